package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// method says how the study draws its conclusions, as declared before its first run.
func (w *paperWriter) method() document.Section {
	s := document.Section{Title: "Method", Break: true}
	s.Add(document.Block{Pairs: w.protocolPairs()})
	s.Add(w.workloadTable(), w.caseTable())
	if len(w.s.Assumptions) > 0 {
		s.Add(document.Block{Text: "What the conclusions rest on:"}, document.List("", w.s.Assumptions...))
	}
	return s
}

func (w *paperWriter) protocolPairs() []document.Pair {
	p := w.s.File.Protocol
	out := []document.Pair{pair("Protocol", protocolWords(w.s)), pair("Declared primary outcome", w.s.Primary+"; what is said of other workloads is exploratory")}
	if p.Design != "" {
		out = append(out, pair("Design", designWords(p.Design)))
	}
	out = append(out, pair("Order", fmt.Sprintf("drawn with seed %d", p.Seed)))
	if w.paperProtocol() {
		out[len(out)-1] = pair("Order", "as listed; a drift of the machine is not told from an effect")
	}
	if len(p.Looks) > 0 {
		out = append(out, pair("Planned looks", "after "+joined(p.Looks)+" blocks, and at no other time"))
	}
	if p.Alpha > 0 && !w.paperProtocol() {
		out = append(out, pair("Error allowed", fmt.Sprintf("α = %s over all looks and all changes of the primary outcome together (Holm)", sig(p.Alpha))))
	}
	if m := marginText(w.s); m != "" {
		out = append(out, pair("Margin", "an effect below "+m+" is of no use"))
	}
	if w.s.File.Source != "" {
		out = append(out, pair("Design taken from", w.s.File.Source))
	}
	if w.s.File.Budget > 0 {
		out = append(out, pair("Budget", duration(w.s.File.Budget)))
	}
	ended := w.s.Ended
	if ended == "" {
		ended = unknown
	}
	if !w.s.Complete {
		ended += " (not every comparison came to its end)"
	}
	return append(out, pair("Ended", ended))
}

func protocolWords(s *model.Study) string {
	p := s.File.Protocol
	if s.Protocol == "paper" {
		return fmt.Sprintf("paper: %s of each case, made again up to %d times until their relative standard deviation is at most %s; a difference counts from %s on. It has no randomised order, no interval and no test.",
			unit.Count(p.Runs, "run"), p.Most, shareText(p.RSD), marginText(s))
	}
	return s.Protocol + ": A/A first, then randomised blocks in which change and control stand side by side; sign-flip randomisation test on the log-ratios of blocks, interval by inverting that test at the level spent"
}

func designWords(d string) string {
	switch d {
	case "sequence":
		return "sequence: the cases in their printed order"
	case "one-at-a-time":
		return "one factor at a time against one baseline; interactions between factors are not seen"
	case "factorial":
		return "full factorial: every combination"
	case "plackett-burman":
		return "Plackett-Burman screening: main effects, mixed with interactions of two factors"
	case "plackett-burman-fold-over":
		return "Plackett-Burman screening with fold-over: main effects clear of interactions of two factors"
	case "search":
		return "search over ordered levels by halving; what it finds is then compared with the baseline in runs of its own"
	case "split-plot":
		return "split plot: what is costly to change is changed rarely, so what is said of it rests on fewer independent changes"
	}
	return d
}

func joined(vs []int) string {
	var out []string
	for _, v := range vs {
		out = append(out, strconv.Itoa(v))
	}
	return strings.Join(out, ", ")
}

func (w *paperWriter) workloadTable() document.Block {
	t := document.Table{Caption: "Workloads", Head: document.Columns("Workload", "What it does", "#Measured", "#Warm-up", "Outcome")}
	for _, l := range w.s.File.Workloads {
		kind := "exploratory"
		if l.Name == w.s.Primary {
			kind = "primary"
		}
		t.Rows = append(t.Rows, []document.Entry{{Text: l.Name, Class: "strong"}, {Text: workloadLine(l)}, {Text: duration(l.Duration)}, {Text: duration(l.Warmup)}, {Text: kind}})
	}
	return t.Block()
}

// caseTable lists the baseline steps and every case with what it changes, as
// test-case sequences of adapter papers do.
func (w *paperWriter) caseTable() document.Block {
	t := document.Table{Caption: "Test cases: each differs from the baseline in what its row says and in nothing else",
		Head: document.Columns("#Case", "Factor", "Level", "What is changed", "By", "#Runs", "#Counted")}
	add := func(factor, level, what, by string, runs []model.StudyRun) {
		made, counted := "", ""
		if runs != nil {
			n := 0
			for _, r := range runs {
				if r.Counted && !w.dropped[r.N] {
					n++
				}
			}
			made, counted = strconv.Itoa(len(runs)), strconv.Itoa(n)
		}
		t.Rows = append(t.Rows, []document.Entry{{Text: strconv.Itoa(len(t.Rows) + 1)}, {Text: factor, Class: "strong"}, {Text: level}, {Text: what}, {Text: by}, {Text: made}, {Text: counted}})
	}
	for _, l := range w.s.File.Baseline {
		if x := (state{stepFactor, l.Name}); !slices.Contains(w.states, x) {
			add("Step of the baseline", l.Name, levelWords(l), w.by(l), nil)
		}
	}
	for _, x := range w.states {
		runs := []model.StudyRun{}
		for _, r := range w.s.Runs {
			if w.stateOf(r) == x {
				runs = append(runs, r)
			}
		}
		l, listed := levelOf(w.s, x)
		switch {
		case x.Factor == "":
			add(x.name(), "", w.baselineWords(x), "", runs)
		case x.Factor == stepFactor && len(runs) == 0:
			add("Step of the baseline", l.Name, levelWords(l), w.by(l), nil) // its runs are those of the baseline
		case listed && len(runs) == 0 && w.crossed():
			// a level that the cases combine; it is not a case by itself
		case w.leftOut(x):
			add(x.Factor, x.Level, levelWords(l), "in force already", runs)
		case x.Factor == stepFactor:
			add("Step of the baseline", l.Name, levelWords(l), w.by(l), runs)
		default:
			add(x.Factor, x.Level, levelWords(l), w.by(l), runs)
		}
	}
	return t.Block()
}

func (w *paperWriter) by(l model.StudyLevel) string {
	switch {
	case len(l.Lab) > 0 && inLab(w.s.File.Hosts):
		return "the lab"
	case l.Instruct != "":
		return "operator"
	}
	return "linerate"
}

// inLab reports whether all hosts belong to a lab.
func inLab(hosts map[string]string) bool {
	for _, at := range hosts {
		if !strings.HasPrefix(at, "lab:") {
			return false
		}
	}
	return true
}

// leftOut reports whether a level was in force before the study, and is therefore not part of
// it.
func (w *paperWriter) leftOut(x state) bool {
	return slices.ContainsFunc(w.s.Comparisons, func(c model.StudyComparison) bool {
		return c.Conclusion == model.StudyInForce && c.Factor == x.Factor && c.Level == x.Level
	})
}

// baselineWords says what is in force in the baseline, or before its first step.
func (w *paperWriter) baselineWords(x state) string {
	if x == asFound || len(w.s.File.Baseline) == 0 {
		return "nothing: as the hosts were found"
	}
	return "the state after all steps"
}

// crossed reports whether several factors were varied at once.
func (w *paperWriter) crossed() bool {
	return slices.ContainsFunc(w.s.Runs, func(r model.StudyRun) bool { return len(r.Levels) > 1 })
}

// levelWords says what a level changes.
func levelWords(l model.StudyLevel) string {
	var out []string
	for _, x := range l.Set {
		what := x.Setting
		if x.Target != "" {
			what += " of " + x.Target
		}
		out = append(out, what+" on "+x.Host+" → "+x.Value)
	}
	for _, k := range sorted(l.Workload) {
		out = append(out, strings.ReplaceAll(k, "_", " ")+" of the workload → "+l.Workload[k])
	}
	if l.Instruct != "" {
		out = append(out, l.Instruct)
	}
	if len(l.Lab) > 0 {
		out = append(out, "in a lab: "+strings.Join(l.Lab, " "))
	}
	if l.Verify != nil {
		out = append(out, "seen by "+l.Verify.Fact+" of "+l.Verify.Host+" = "+l.Verify.Is)
	}
	if len(out) == 0 {
		return "a combination of the levels of its factors"
	}
	return strings.Join(out, "; ")
}

// effects has the relative bars of every workload, baseline = 100%, and the table of their
// figures.
func (w *paperWriter) effects() document.Section {
	s := document.Section{Title: "Effect of each change", Break: true}
	for _, steps := range []bool{true, false} {
		var figs []document.Figure
		for i, name := range workloadNames(w.s) {
			if f, ok := w.bars(i, name, steps); ok {
				figs = append(figs, f)
			}
		}
		if len(figs) > 0 {
			s.Add(document.Block{Figures: figs})
		}
	}
	if len(s.Blocks) == 0 {
		return document.Section{}
	}
	for _, name := range workloadNames(w.s) {
		if t := w.effectTable(name); len(t.Rows) > 0 {
			s.Add(t.Block())
		}
	}
	return s
}

func (w *paperWriter) effectTable(workload string) document.Table {
	t := document.Table{Head: document.Columns("Change", "Conclusion", "#Ratio", "#Interval", "#Baseline", "#Treated", "#n", "#p", "#Smallest", "In force")}
	role := "exploratory: p is not corrected for the number of comparisons"
	for _, c := range w.ordered() {
		if c.Workload != workload {
			continue
		}
		p := document.Entry{Text: probabilityCell(c.P)}
		if c.PHolm != nil {
			p.Sub = "Holm " + probability(*c.PHolm)
		}
		if c.Primary {
			role = "the primary outcome: p is of the comparison alone and, after Holm, of all of them together"
		}
		t.Rows = append(t.Rows, []document.Entry{{Text: named(c), Class: "strong"}, {Text: conclusionWords(w.s, c.Conclusion), Sub: c.Why}, {Text: dash(c.Ratio, relative), Class: "strong"},
			{Text: orDash(interval(c.CILow, c.CIHigh, relative))}, {Text: positive(c.Baseline, c.Unit)}, {Text: positive(c.Treated, c.Unit)}, {Text: strconv.Itoa(c.N)}, p,
			{Text: dash(c.Smallest, change)}, {Text: inForceCell(c)}})
	}
	t.Caption = workload + ", " + role + ". Ratio is treated over baseline; Smallest is the smallest effect that so many blocks would have shown nine times in ten."
	if w.paperProtocol() {
		t.Caption = workload + ". Ratio is treated over baseline; protocol paper has no interval and no test."
		t.Drop("Interval", "p", "Smallest")
	}
	return t
}

// inForceCell says whether the treatment was seen to be in force.
func inForceCell(c model.StudyComparison) string {
	if c.Conclusion == model.StudyInForce {
		return "before"
	}
	return yesNo(c.Effective)
}

// ordered are the comparisons by workload, then state.
func (w *paperWriter) ordered() []model.StudyComparison {
	out := slices.Clone(w.s.Comparisons)
	names := workloadNames(w.s)
	slices.SortStableFunc(out, func(a, b model.StudyComparison) int {
		if d := slices.Index(names, a.Workload) - slices.Index(names, b.Workload); d != 0 {
			return d
		}
		return w.place(a) - w.place(b)
	})
	return out
}

// place is the position of a comparison's state in the order of states.
func (w *paperWriter) place(c model.StudyComparison) int {
	return slices.Index(w.states, state{c.Factor, c.Level})
}

// positive prints an outcome; zero is one that was never measured.
func positive(v float64, u string) string {
	if v <= 0 || !stat.Finite(v) {
		return "–"
	}
	return outcome(v, u)
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func dash(v *float64, say func(*float64) string) string {
	if v == nil || !stat.Finite(*v) {
		return "–"
	}
	return say(v)
}
