package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// nothing lists the changes that are not worth trying, and those without an answer.
func (w *paperWriter) nothing() document.Section {
	s := document.Section{Title: "What did nothing, cost something, or has no answer"}
	t := document.Table{Caption: "Changes of the primary outcome that are not recommended, and why", Head: document.Columns("Change", "Came to", "#Ratio", "#Interval", "#n", "#Would have seen", "Why")}
	rest := slices.DeleteFunc(primaries(w.s), func(c model.StudyComparison) bool { return c.Conclusion == model.StudyGain })
	rest = append(rest, inForce(w.s)...)
	for _, c := range rest {
		t.Rows = append(t.Rows, []document.Entry{{Text: named(c), Class: "strong"}, {Text: conclusionWords(w.s, c.Conclusion)}, {Text: dash(c.Ratio, relative)}, {Text: orDash(interval(c.CILow, c.CIHigh, relative))},
			{Text: strconv.Itoa(c.N)}, {Text: dash(c.Smallest, change)}, {Text: w.whyNot(c)}})
	}
	if len(t.Rows) == 0 {
		return document.Section{}
	}
	s.Add(t.Block())
	return s
}

func (w *paperWriter) whyNot(c model.StudyComparison) string {
	if c.Why != "" {
		return c.Why
	}
	m := marginText(w.s)
	switch c.Conclusion {
	case model.StudyNoEffect:
		if w.paperProtocol() {
			return "the difference is within the margin of " + m + "; this protocol has no interval, so an effect is not excluded"
		}
		return "the whole interval lies within ± " + m + ": an effect of use is excluded"
	case model.StudyUndecided:
		return "neither an effect was shown nor one above " + m + " excluded: more blocks would decide"
	case model.StudyNotInForce:
		return "the host did not take the change, so nothing was measured of it"
	case model.StudyNotTried:
		return "no run was made with it"
	case model.StudyNotConverged:
		return "its runs never agreed among themselves"
	case model.StudyLoss:
		return "it makes the primary outcome worse"
	}
	return ""
}

// aa has the figures of a workload's A/A runs: pairs of equal runs.
type aa struct {
	n      int       // pairs
	noise  float64   // root mean square of the log-ratios, as a share
	mean   float64   // their geometric mean ratio
	ratios []float64 // second over first
}

// aaOf pairs the A/A runs of a block in the order in which they were run.
func aaOf(s *model.Study, workload string) aa {
	byBlock := map[int][]model.StudyRun{}
	var blocks []int
	for _, r := range s.Runs {
		if r.Stage != "a/a" || r.Workload != workload || r.Value == nil || !stat.Finite(*r.Value) || *r.Value <= 0 || r.Why != "" {
			continue
		}
		if byBlock[r.Block] == nil {
			blocks = append(blocks, r.Block)
		}
		byBlock[r.Block] = append(byBlock[r.Block], r)
	}
	out := aa{}
	sum, squares := 0.0, 0.0
	for _, b := range blocks {
		runs := byBlock[b]
		for i := 0; i+1 < len(runs); i += 2 {
			l := math.Log(*runs[i+1].Value / *runs[i].Value)
			sum, squares = sum+l, squares+l*l
			out.ratios = append(out.ratios, math.Exp(l))
		}
	}
	if out.n = len(out.ratios); out.n > 0 {
		out.noise, out.mean = math.Exp(math.Sqrt(squares/float64(out.n)))-1, math.Exp(sum/float64(out.n))
	}
	return out
}

// noise shows how much equal runs differ, which runs were discarded, and all runs in their
// order.
func (w *paperWriter) noise() document.Section {
	s := document.Section{Title: "Noise: equal runs, discarded runs, drift", Break: true}
	var figs []document.Figure
	t := document.Table{Caption: "A/A: pairs of runs between which nothing was changed. What they differ by is noise; a mean away from 100% would put the study in doubt.",
		Head: document.Columns("Workload", "#Pairs", "#Mean ratio", "#Range of ratios", "#Typical difference")}
	for i, name := range workloadNames(w.s) {
		if f, ok := w.inOrder(i, name); ok {
			figs = append(figs, f)
		}
		if a := aaOf(w.s, name); a.n > 0 {
			r := spanOf(a.ratios)
			t.Rows = append(t.Rows, []document.Entry{{Text: name, Class: "strong"}, {Text: strconv.Itoa(a.n)}, {Text: relative(&a.mean)}, {Text: relative(&r.Low) + " to " + relative(&r.Top)}, {Text: shareText(a.noise)}})
		}
	}
	if len(figs) > 0 {
		s.Add(document.Block{Figures: figs})
	}
	if len(t.Rows) > 0 {
		s.Add(t.Block())
	} else {
		s.Add(document.Block{Note: "No A/A runs were made, so the noise of this set-up is not known from equal runs."})
	}
	s.Add(w.discarded()...)
	return s
}

// baseline is the span of the baseline's runs; if they never agreed, of all of them.
func (w *paperWriter) baseline(workload string) span {
	if s := spanOf(valuesOf(w.counted(state{}, workload), outcomeValue)); s.N > 0 {
		return s
	}
	var all []float64
	for _, r := range w.s.Runs {
		if r.Workload == workload && r.Value != nil && w.stateOf(r).baseline() {
			all = append(all, *r.Value)
		}
	}
	return spanOf(all)
}

// stateOfGroup is the state in which a group of runs was measured.
func (w *paperWriter) stateOfGroup(d model.StudyDiscarded) state {
	for _, r := range w.s.Runs {
		if slices.Contains(d.Runs, r.N) {
			return w.stateOf(r)
		}
	}
	return state{d.Factor, d.Level}
}

// inOrder shows the runs of a workload in their order: a drift shows as a slope of the
// baseline, a disturbance as a dip of neighbouring runs.
func (w *paperWriter) inOrder(i int, workload string) (document.Figure, bool) {
	base := w.baseline(workload)
	if base.N == 0 || base.Mean <= 0 {
		return document.Figure{}, false
	}
	d := chart.Dots{XUnit: "run", YUnit: "%", Marks: []chart.Mark{{Y: 100}}}
	n := map[string]int{}
	for _, r := range w.s.Runs {
		if r.Workload != workload || r.Value == nil {
			continue
		}
		class := "after"
		switch {
		case w.dropped[r.N] || r.Why != "" || !r.Counted && r.Stage != "a/a":
			class = "out"
		case r.Stage == "a/a":
			class = "control"
		case w.stateOf(r).baseline():
			class = "before"
		}
		n[class]++
		rel := *r.Value / base.Mean
		d.Dots = append(d.Dots, chart.Dot{X: float64(r.N), Y: rel * 100, Class: class, Title: fmt.Sprintf("run %d, %s: %s", r.N, w.stateOf(r).name(), relative(&rel))})
	}
	f := document.Figure{Caption: workload + ": every run in the order it was made, relative to the mean of the baseline", Note: "The vertical axis need not start at zero."}
	for _, l := range []document.Legend{legend("before", "baseline", ""), legend("after", "with a change", ""), legend("control", "A/A", ""), legend("crosskey", "not counted", "")} {
		key := l.Class
		if key == "crosskey" {
			key = "out"
		}
		if n[key] > 0 {
			l.Value = fmt.Sprintf("n = %d", n[key])
			f.Legend = append(f.Legend, l)
		}
	}
	f.Legend = append(f.Legend, legend("s5", "mean of the baseline", fmt.Sprintf("n = %d", base.N)))
	d.Figure = chart.Figure{ID: fmt.Sprintf("order-%d", i), Title: f.Caption, Desc: unit.Count(len(d.Dots), "run")}
	f.Panels = []document.Panel{{Chart: d}}
	return f, true
}

// discarded lists the runs that do not count, each with the reason.
func (w *paperWriter) discarded() []document.Block {
	var out []document.Block
	if len(w.s.Discarded) > 0 {
		t := document.Table{Caption: "Groups of runs that did not agree and were made again. They are kept here because making runs again until they agree favours what agrees.",
			Head: document.Columns("Change", "Workload", "Runs", "Values", "#RSD")}
		for _, d := range w.s.Discarded {
			values, runs := "", ""
			for i, v := range d.Values {
				values += comma(i) + outcome(v, w.unitOf(d.Workload))
			}
			for i, n := range d.Runs {
				runs += comma(i) + strconv.Itoa(n)
			}
			t.Rows = append(t.Rows, []document.Entry{{Text: w.stateOfGroup(d).name(), Class: "strong"}, {Text: d.Workload}, {Text: runs}, {Text: values}, {Text: shareText(d.RSD)}})
		}
		out = append(out, t.Block())
	}
	t := document.Table{Caption: "Runs that were not counted, and what kept them out", Head: document.Columns("#Run", "State", "Workload", "#Outcome", "Why")}
	for _, r := range w.s.Runs {
		if !r.Counted && r.Why != "" {
			t.Rows = append(t.Rows, []document.Entry{{Text: strconv.Itoa(r.N)}, {Text: w.stateOf(r).name(), Class: "strong"}, {Text: r.Workload}, {Text: runOutcome(r)}, {Text: r.Why}})
		}
	}
	if len(t.Rows) > 0 {
		return append(out, t.Block())
	}
	return append(out, document.Block{Note: "No run was left out."})
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

func (w *paperWriter) unitOf(workload string) string {
	for _, r := range w.s.Runs {
		if r.Workload == workload {
			return r.Unit
		}
	}
	return ""
}

func runOutcome(r model.StudyRun) string {
	if r.Value == nil {
		return "failed"
	}
	return outcome(*r.Value, r.Unit)
}
