package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// stepFactor is the name of the factor under which a study compares the steps of its baseline,
// each with the state before it.
const stepFactor = "baseline"

// state is one level of one factor; the baseline (neither); or what came before
// it: the hosts as they were found, and each step but the last, whose state is
// the baseline. A state of several factors has their names and levels joined by
// " × ", in the order of the file.
type state struct{ Factor, Level string }

// searchStage is the stage of the runs by which a search chooses a state. They enter no
// comparison: what is best of many looks better than it is.
const searchStage = "search"

// asFound is the state before the first step of a baseline.
var asFound = state{Level: "as found"}

// stateOf is the state in which a run was measured. all is the number of steps of the
// baseline.
func stateOf(s *model.Study, r model.StudyRun, all int) state {
	switch {
	case len(r.Levels) > 0:
		var names, levels []string
		for _, f := range s.File.Factors {
			if l, ok := r.Levels[f.Name]; ok {
				names, levels = append(names, f.Name), append(levels, l)
			}
		}
		return state{strings.Join(names, " × "), strings.Join(levels, " × ")}
	case r.Factor != "" && r.Factor != stepFactor:
		return state{r.Factor, r.Level}
	case r.Steps >= all:
		return state{}
	case r.Steps > 0 && r.Steps <= len(s.File.Baseline):
		return state{stepFactor, s.File.Baseline[r.Steps-1].Name}
	}
	return asFound
}

// baselineSteps is how many steps of the baseline were in force in the fullest run.
func baselineSteps(s *model.Study) int {
	most := 0
	for _, r := range s.Runs {
		most = max(most, r.Steps)
	}
	return most
}

func (s state) baseline() bool { return s == state{} }

// name is the name of a state in tables and figures.
func (s state) name() string {
	switch {
	case s.baseline():
		return "Baseline"
	case s == asFound:
		return "As found"
	case s.Factor == stepFactor:
		return "Step: " + s.Level
	case s.Level == "" || s.Level == s.Factor:
		return s.Factor
	}
	return s.Factor + ": " + s.Level
}

// prose is the name of a state within a sentence.
func (s state) prose() string {
	switch {
	case s.baseline():
		return "the baseline"
	case s == asFound:
		return "the hosts as they were found"
	case s.Factor == stepFactor:
		return "the step " + s.Level
	}
	return strings.TrimSpace(s.Factor + " " + s.Level)
}

// statesOf are all states of a study: what led to the baseline, the baseline,
// then the levels as the file lists them, then what else was compared or run.
func statesOf(s *model.Study) []state {
	var out []state
	all := baselineSteps(s)
	add := func(x state) {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	if occurs(s, asFound, all) {
		add(asFound)
	}
	for _, l := range s.File.Baseline {
		if x := (state{stepFactor, l.Name}); occurs(s, x, all) {
			add(x)
		}
	}
	add(state{})
	for _, f := range s.File.Factors {
		for _, l := range f.Levels {
			if x := (state{f.Name, l.Name}); occurs(s, x, all) {
				add(x)
			}
		}
	}
	for _, c := range s.Comparisons {
		add(state{c.Factor, c.Level})
	}
	for _, r := range s.Runs {
		add(stateOf(s, r, all))
	}
	return out
}

// occurs reports whether a level was run or compared by itself; levels of a crossed design
// need not be.
func occurs(s *model.Study, x state, all int) bool {
	return slices.ContainsFunc(s.Comparisons, func(c model.StudyComparison) bool { return c.Factor == x.Factor && c.Level == x.Level }) ||
		slices.ContainsFunc(s.Runs, func(r model.StudyRun) bool { return stateOf(s, r, all) == x })
}

// workloadNames are the workloads in the order of the file, the primary first.
func workloadNames(s *model.Study) []string {
	var out []string
	add := func(n string) {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	for _, c := range s.Comparisons {
		if c.Primary {
			add(c.Workload)
		}
	}
	for _, w := range s.File.Workloads {
		add(w.Name)
	}
	for _, c := range s.Comparisons {
		add(c.Workload)
	}
	for _, r := range s.Runs {
		add(r.Workload)
	}
	return out
}

// counted are the runs of a state on a workload that entered a comparison, with
// a value.
func (w *paperWriter) counted(x state, workload string) []model.StudyRun {
	var out []model.StudyRun
	for _, r := range w.s.Runs {
		if r.Workload == workload && r.Counted && r.Value != nil && stat.Finite(*r.Value) && r.Stage != "a/a" && r.Stage != searchStage && !w.dropped[r.N] && w.stateOf(r) == x {
			out = append(out, r)
		}
	}
	return out
}

// droppedRuns returns the runs of groups that did not agree: they were repeated, and no
// conclusion uses them.
func droppedRuns(s *model.Study) map[int]bool {
	out := map[int]bool{}
	for _, d := range s.Discarded {
		for _, n := range d.Runs {
			out[n] = true
		}
	}
	return out
}

func (w *paperWriter) stateOf(r model.StudyRun) state { return stateOf(w.s, r, w.steps) }

// span is the mean and range of several measurements.
type span struct {
	N              int
	Mean, Low, Top float64
}

func spanOf(vs []float64) span {
	var s span
	for _, v := range vs {
		if !stat.Finite(v) {
			continue
		}
		if s.N == 0 {
			s.Low, s.Top = v, v
		}
		s.N++
		s.Mean += (v - s.Mean) / float64(s.N)
		s.Low, s.Top = min(s.Low, v), max(s.Top, v)
	}
	return s
}

func valuesOf(runs []model.StudyRun, f func(model.StudyRun) (float64, bool)) []float64 {
	var out []float64
	for _, r := range runs {
		if v, ok := f(r); ok && stat.Finite(v) {
			out = append(out, v)
		}
	}
	return out
}

func outcomeValue(r model.StudyRun) (float64, bool) {
	if r.Value == nil {
		return 0, false
	}
	return *r.Value, true
}

// outcome prints a value in the unit of its run.
func outcome(v float64, u string) string {
	switch {
	case !stat.Finite(v):
		return unknown
	case u == "bit/s":
		return unit.BitRate(v).String()
	case u == "1/s":
		return count(v) + " requests/s"
	case u == "":
		return sig(v)
	}
	return sig(v) + " " + u
}

// count prints a number of things with three significant digits and thin
// groups: 12 300.
func count(v float64) string {
	if math.Abs(v) < 1000 || math.Abs(v) >= 1e15 {
		return sig(v)
	}
	digits := int(math.Floor(math.Log10(math.Abs(v)))) - 2
	p := math.Pow(10, float64(digits))
	s := strconv.FormatFloat(math.Round(v/p)*p, 'f', 0, 64)
	var parts []string
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, parts...), "\u00a0")
}

// outcomeScale is the prefix that a chart of outcomes up to top is drawn in.
func outcomeScale(top float64, u string) (div float64, name string) {
	switch {
	case u == "bit/s":
		return rateScale(top)
	case u == "1/s" && top >= 1e4:
		return 1e3, "1000 requests/s"
	case u == "1/s":
		return 1, "requests/s"
	}
	return 1, u
}

// relative prints a ratio against a baseline of 100%: 112%, 99.4%.
func relative(v *float64) string {
	if v == nil || !stat.Finite(*v) {
		return unknown
	}
	p := *v * 100
	if math.Abs(p-100) < 9.95 {
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}

// change prints a ratio as what it adds: +12%, −30%, 7.60× from three times on.
func change(v *float64) string {
	if v == nil || !stat.Finite(*v) {
		return unknown
	}
	if *v >= 3 {
		return factor(v)
	}
	p := (*v - 1) * 100
	digits := 0
	if math.Abs(p) < 9.95 {
		digits = 1
	}
	text := strconv.FormatFloat(math.Abs(p), 'f', digits, 64) + "%"
	switch {
	case text == "0.0%":
		return "±0%"
	case p < 0:
		return "−" + text
	}
	return "+" + text
}

// interval prints the ends of an interval, and says so if an end is not bounded.
func interval(lo, hi *float64, say func(*float64) string) string {
	switch {
	case lo == nil && hi == nil:
		return ""
	case lo == nil:
		return "up to " + say(hi)
	case hi == nil:
		return "from " + say(lo) + ", not bounded above"
	}
	return say(lo) + " to " + say(hi)
}

// conclusionClass is the colour of a conclusion: b1 gain, b2 loss, b3 no
// effect, b4 undecided; b5 is the baseline.
func conclusionClass(c string) string {
	switch c {
	case model.StudyGain:
		return "b1"
	case model.StudyLoss:
		return "b2"
	case model.StudyNoEffect:
		return "b3"
	}
	return "b4"
}

// marginText is the margin of a study as a share: 2%.
func marginText(s *model.Study) string {
	m := s.File.Protocol.Margin
	if !stat.Finite(m) || m <= 1 {
		return ""
	}
	return shareText(m - 1)
}

// conclusionWords is a conclusion with the margin put in.
func conclusionWords(s *model.Study, c string) string {
	m := marginText(s)
	switch {
	case c != model.StudyNoEffect || m == "":
		return c
	case s.Protocol == "paper": // three runs cannot exclude an effect
		return "no difference beyond " + m
	}
	return "no effect above " + m
}

// levelOf returns a level of the study file, or a step of its baseline; false if the file does
// not list it.
func levelOf(s *model.Study, x state) (model.StudyLevel, bool) {
	levels := slices.Clone(s.File.Baseline)
	if x.Factor != stepFactor {
		levels = nil
		for _, f := range slices.Concat(s.File.Factors, s.File.LeftOut) {
			if f.Name == x.Factor {
				levels = append(levels, f.Levels...)
			}
		}
	}
	i := slices.IndexFunc(levels, func(l model.StudyLevel) bool { return l.Name == x.Level })
	if i < 0 {
		return model.StudyLevel{}, false
	}
	return levels[i], true
}

func (w *paperWriter) paperProtocol() bool { return w.s.Protocol == "paper" }

// blocksWord is the word for what n counts.
func (w *paperWriter) blocksWord(n int) string {
	if w.paperProtocol() {
		return unit.Count(n, "run")
	}
	return unit.Count(n, "block")
}

func probabilityCell(p *float64) string {
	if p == nil {
		return "–"
	}
	return probability(*p)
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "not looked"
	case *b:
		return "yes"
	}
	return "no"
}
