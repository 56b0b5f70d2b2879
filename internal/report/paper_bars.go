package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
)

// effectLegend names the colours of the bars, as far as they occur.
func (w *paperWriter) effectLegend(cs []model.StudyComparison) []document.Legend {
	out := []document.Legend{legend("b5", "baseline", "")}
	for _, x := range []struct{ conclusion, class string }{{model.StudyGain, "b1"}, {model.StudyLoss, "b2"}, {model.StudyNoEffect, "b3"}, {model.StudyUndecided, "b4"}} {
		if len(with(cs, x.conclusion)) > 0 {
			out = append(out, legend(x.class, conclusionWords(w.s, x.conclusion), ""))
		}
	}
	if slices.ContainsFunc(cs, func(c model.StudyComparison) bool { return c.CILow != nil || c.CIHigh != nil }) {
		out = append(out, legend("whiskerkey", "interval", ""))
	}
	if marginText(w.s) != "" {
		out = append(out, legend("bandkey", "margin ± "+marginText(w.s), ""))
	}
	return out
}

// bars draws one workload: the baseline at 100% and each change relative to it;
// or the steps that led to the baseline, each relative to the state before it.
func (w *paperWriter) bars(i int, name string, steps bool) (document.Figure, bool) {
	var cs []model.StudyComparison
	for _, c := range w.ordered() {
		if c.Workload == name && (c.Factor == stepFactor) == steps {
			cs = append(cs, c)
		}
	}
	if len(cs) == 0 {
		return document.Figure{}, false
	}
	beside := w.besides(steps)
	hundred := 100.0
	b := chart.Bars{Unit: "%", Ref: &hundred, Top: 120, Rows: []chart.Bar{{Label: beside.label, Text: "100%", Class: "b5", Value: &hundred}}}
	if m := w.s.File.Protocol.Margin; stat.Finite(m) && m > 1 {
		b.Band = &[2]float64{100 / m, 100 * m}
	}
	desc := ""
	for _, c := range cs {
		row := w.bar(c)
		b.Rows = append(b.Rows, row)
		desc += row.Title + ". "
	}
	role := "exploratory"
	if cs[0].Primary {
		role = "primary outcome"
	}
	f := document.Figure{Caption: name + " (" + role + "): " + w.outcomeOf(name, cs[0].Unit) + " relative to " + beside.caption, Legend: w.effectLegend(cs)}
	b.Figure = chart.Figure{ID: fmt.Sprintf("%s-%d", beside.id, i), Title: f.Caption, Desc: desc}
	f.Panels = []document.Panel{{Chart: b}}
	f.Note = "Relative to the mean " + beside.note + "; n = " + w.nRange(cs) + "."
	if w.paperProtocol() {
		f.Note += " This protocol gives no interval."
	} else if !cs[0].Primary {
		f.Note += " Not corrected for the number of comparisons."
	}
	return f, true
}

// besides says what the bars are relative to: id, the label of the 100% bar, and
// the words for caption and note.
func (w *paperWriter) besides(steps bool) (b struct{ id, label, caption, note string }) {
	b.id, b.label, b.caption = "effect", "Baseline", "the baseline configuration"
	switch {
	case steps:
		b.id, b.label, b.caption, b.note = "steps", "State before", "the state before each step of the baseline", "of the state before = 100%"
	case w.crossed():
		b.note = "of the cases in which the same factor is at its baseline level = 100%"
	case w.paperProtocol():
		b.note = "of the baseline, measured once = 100%"
	default:
		b.note = "of the baseline runs beside it, baseline = 100%"
	}
	return b
}

// bar is the row of one comparison; one that was not measured has text only.
func (w *paperWriter) bar(c model.StudyComparison) chart.Bar {
	row := chart.Bar{Label: named(c), Class: conclusionClass(c.Conclusion), Value: hundredfold(c.Ratio), Low: hundredfold(c.CILow), High: hundredfold(c.CIHigh),
		Span: c.CILow != nil || c.CIHigh != nil, Text: w.barText(c), Title: named(c) + ": " + w.barText(c)}
	if unmeasured(c) {
		row.Value = nil
	}
	return row
}

func (w *paperWriter) outcomeOf(workload, u string) string {
	if slices.ContainsFunc(w.s.Runs, func(r model.StudyRun) bool { return r.Workload == workload && len(r.PerFrame) > 0 }) {
		return "rate of a frame"
	}
	return outcomeName(u)
}

func outcomeName(u string) string {
	switch u {
	case "bit/s":
		return "goodput"
	case "1/s":
		return "requests per second"
	}
	return "outcome"
}

func hundredfold(v *float64) *float64 {
	if v == nil || !stat.Finite(*v) {
		return nil
	}
	x := *v * 100
	return &x
}

// barText is the short text at the right end of a row; the table has all figures.
func (w *paperWriter) barText(c model.StudyComparison) string {
	word := c.Conclusion
	if c.Conclusion == model.StudyNoEffect {
		word = "no effect"
		if w.paperProtocol() {
			word = "within margin"
		}
	}
	if c.Ratio == nil || unmeasured(c) {
		return word
	}
	return relative(c.Ratio) + " " + word
}

// unmeasured reports whether a comparison has no outcome, even if runs were made.
func unmeasured(c model.StudyComparison) bool {
	return slices.Contains([]string{model.StudyNotInForce, model.StudyNotTried, model.StudyInForce}, c.Conclusion)
}

// nRange is the number of blocks of the comparisons: 8, or 8 to 20 blocks.
func (w *paperWriter) nRange(cs []model.StudyComparison) string {
	lo, hi := 0, 0
	for _, c := range cs {
		if c.N == 0 {
			continue
		}
		if lo == 0 || c.N < lo {
			lo = c.N
		}
		hi = max(hi, c.N)
	}
	if lo == hi {
		return w.blocksWord(hi)
	}
	return fmt.Sprintf("%d to %s", lo, w.blocksWord(hi))
}

// maxHosts is the number of hosts whose CPU use is drawn; the table has all.
const maxHosts = 3

// processors shows for each state CPU utilisation against retransmitted segments.
func (w *paperWriter) processors() document.Section {
	s := document.Section{Title: "Processors against retransmits"}
	t := document.Table{Fold: "The numbers behind these figures", Caption: "Busy share of all cores by host and retransmitted share of segments: mean, range and n of the counted runs",
		Head: document.Columns("Workload", "State", "Host", "#CPU busy", "#of it interrupts", "#Range", "#Retransmitted", "#Range", "#n")}
	for i, name := range workloadNames(w.s) {
		hosts := w.cpuHosts(name)
		if len(hosts) == 0 {
			continue
		}
		f := document.Figure{Caption: name + ": CPU utilisation and retransmitted segments, by configuration", Wide: true}
		for j, h := range hosts[:min(len(hosts), maxHosts)] {
			f.Panels = append(f.Panels, w.shareBars(fmt.Sprintf("cpu-%d-%d", i, j), name, "CPU busy, "+h, "c1", func(r model.StudyRun) (float64, bool) { v, ok := r.CPU[h]; return v, ok }))
		}
		if w.sawRetransmits(name) {
			f.Panels = append(f.Panels, w.shareBars(fmt.Sprintf("retrans-%d", i), name, "Segments sent again", "c2", retransmitted))
		}
		f.Note = "Mean of the counted runs; whiskers are the range of them." + w.scopeNote(name)
		if len(hosts) > maxHosts {
			f.Note += fmt.Sprintf(" The %d busiest of %d hosts; the table has all.", maxHosts, len(hosts))
		}
		s.Add(document.Block{Figures: []document.Figure{f}})
		w.shareRows(&t, name, hosts)
	}
	if len(s.Blocks) == 0 {
		return document.Section{}
	}
	s.Add(t.Block())
	return s
}

func retransmitted(r model.StudyRun) (float64, bool) {
	if r.Retransmitted == nil {
		return 0, false
	}
	return *r.Retransmitted, true
}

func (w *paperWriter) sawRetransmits(workload string) bool {
	return slices.ContainsFunc(w.s.Runs, func(r model.StudyRun) bool { return r.Workload == workload && r.Counted && r.Retransmitted != nil })
}

// scopeNote says so if hosts share their CPUs.
func (w *paperWriter) scopeNote(workload string) string {
	if slices.ContainsFunc(w.s.Runs, func(r model.StudyRun) bool { return r.Workload == workload && r.Scope == "machine" }) {
		return " Scope: machine. The hosts share one kernel, so a share includes everything else on this machine."
	}
	return ""
}

// cpuHosts returns the hosts with CPU figures, the busiest first.
func (w *paperWriter) cpuHosts(workload string) []string {
	peak := map[string]float64{}
	for _, r := range w.s.Runs {
		if r.Workload == workload && r.Counted {
			for h, v := range r.CPU {
				peak[h] = max(peak[h], v)
			}
		}
	}
	out := sorted(peak)
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(peak[b], peak[a]) })
	return out
}

// fine prints a share with the digits that a share of retransmits needs: 0.041%.
func fine(v float64) string {
	if math.Abs(v) >= 0.1 || !stat.Finite(v) {
		return shareText(v)
	}
	return sig(math.Round(v*1e6)/1e4) + "%"
}

// shareBars draws a share of each state in percent.
func (w *paperWriter) shareBars(id, workload, title, class string, f func(model.StudyRun) (float64, bool)) document.Panel {
	b := chart.Bars{Unit: "%"}
	desc := ""
	for _, x := range w.states {
		v := spanOf(valuesOf(w.counted(x, workload), f))
		if v.N == 0 {
			continue
		}
		b.Rows = append(b.Rows, chart.Bar{Label: x.name(), Text: fine(v.Mean), Class: class, Value: hundredfold(&v.Mean), Low: hundredfold(&v.Low), High: hundredfold(&v.Top),
			Span: v.N > 1, Title: fmt.Sprintf("%s: %s, %s to %s, n = %d", x.name(), fine(v.Mean), fine(v.Low), fine(v.Top), v.N)})
		desc += x.name() + " " + fine(v.Mean) + ". "
	}
	b.Figure = chart.Figure{ID: id, Title: title + ", " + workload, Desc: desc}
	return panel(title, b)
}

func (w *paperWriter) shareRows(t *document.Table, workload string, hosts []string) {
	for _, x := range w.states {
		runs := w.counted(x, workload)
		re := spanOf(valuesOf(runs, retransmitted))
		for _, h := range hosts {
			cpu := spanOf(valuesOf(runs, func(r model.StudyRun) (float64, bool) { v, ok := r.CPU[h]; return v, ok }))
			soft := spanOf(valuesOf(runs, func(r model.StudyRun) (float64, bool) { v, ok := r.Softirq[h]; return v, ok }))
			if cpu.N == 0 {
				continue
			}
			t.Rows = append(t.Rows, []document.Entry{{Text: workload}, {Text: x.name(), Class: "strong"}, {Text: h}, {Text: meanCell(cpu)}, {Text: meanCell(soft)}, {Text: rangeCell(cpu)},
				{Text: meanCell(re)}, {Text: rangeCell(re)}, {Text: fmt.Sprint(cpu.N)}})
		}
	}
}

func meanCell(s span) string {
	if s.N == 0 {
		return unknown
	}
	return fine(s.Mean)
}

func rangeCell(s span) string {
	if s.N < 2 {
		return "–"
	}
	return fine(s.Low) + " to " + fine(s.Top)
}
