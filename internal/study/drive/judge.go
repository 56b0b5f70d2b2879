package drive

import (
	"fmt"
	"math"
	"slices"

	"linerate/internal/model"
	"linerate/internal/stat"
	"linerate/internal/study"
	"linerate/internal/study/file"
)

// effect is one level on one workload, and the results of the looks so far.
type effect struct {
	of                      *comparison
	factor, level, workload string
	primary                 bool

	blocks int     // blocks at the last look; 0: there was none yet
	p      float64 // the smallest error rate at which a look so far rejects, if that is no more than alpha; else 1
	// Results of the last look. mean and spread are those of log-ratios, or of differences if
	// ratio is false because a run moved no data.
	mean, spread float64
	ratio        bool
	rejects      bool // no effect is rejected
	equivalent   bool // every effect beyond the margin is rejected

	shown *shown // computed for readers only
}

// shown has the figures of a look that no decision needs.
type shown struct {
	blocks    int
	p, lo, hi float64
}

// effectsOf are the effects that a comparison shows.
func effectsOf(c *comparison) []*effect {
	var out []*effect
	add := func(factor, level string, workloads []string) {
		for _, w := range workloads {
			out = append(out, &effect{of: c, factor: factor, level: level, workload: w, primary: w == c.file.Primary, p: 1})
		}
	}
	switch {
	case c.aa() || c.searches() || c.paper && c.reference == nil:
	case c.crossed():
		for _, f := range c.file.Factors {
			for _, l := range f.Levels {
				add(f.Name, l.Name, workloadsOf(*c.file, l.Workload))
			}
		}
	default:
		add(c.factor, c.level, c.workloads)
	}
	return out
}

// sides are the outcomes with and without a level, of each complete block up to
// n. In a crossed design they are geometric means over the cases of the block, or arithmetic
// means if a run moved no data.
func (e *effect) sides(n int) (baseline, treated []float64) {
	for _, b := range e.of.blocks {
		if b.next() != nil || len(baseline) == n {
			break
		}
		var with, without []float64
		for _, s := range b.slots {
			switch in, out := e.in(s); {
			case in:
				with = append(with, s.value)
			case out:
				without = append(without, s.value)
			}
		}
		baseline, treated = append(baseline, middle(without)), append(treated, middle(with))
	}
	return baseline, treated
}

// in reports whether a run has the level, or the baseline's; runs with another level of the
// factor have neither.
func (e *effect) in(s *slot) (with, without bool) {
	if s.want.Workload != e.workload {
		return false, false
	}
	if e.of.finds {
		return len(s.want.Levels) > 0, len(s.want.Levels) == 0
	}
	if !e.of.crossed() {
		return s.want.Factor != "", s.want.Factor == ""
	}
	l, other := s.want.Levels[e.factor]
	return l == e.level, !other
}

// middle is the geometric mean, or the arithmetic mean if a value is 0.
func middle(x []float64) float64 {
	logs, sum := 0.0, 0.0
	for _, v := range x {
		sum += v
		logs += math.Log(v)
	}
	if slices.Contains(x, 0) {
		return sum / float64(len(x))
	}
	return math.Exp(logs / float64(len(x)))
}

// look judges a comparison if the number of its complete blocks is that of a planned look.
func (d *Drive) look(c *comparison) error {
	n := c.done()
	if c.aa() || c.paper || !slices.Contains(d.file.Protocol.Looks, n) {
		return nil
	}
	for _, e := range d.found {
		if e.of == c && e.blocks < n {
			if err := d.judge(e, n); err != nil {
				return fmt.Errorf("judge %s %s: %w", e.factor, e.level, err)
			}
		}
	}
	return nil
}

func (d *Drive) judge(e *effect, n int) error {
	values, ratio := e.values(n)
	decided, err := d.seqOf().Decide(values)
	if err != nil {
		return err
	}
	e.blocks, e.ratio, e.rejects = n, ratio, decided.Rejected
	e.mean, e.spread = stat.Mean(values), stat.Deviation(values)
	if e.rejects {
		p, err := d.smallestLevel(values)
		if err != nil {
			return err
		}
		// With drawn patterns the two ways to compute p differ slightly.
		e.p = min(e.p, p, d.file.Protocol.Alpha)
	}
	e.equivalent = false
	if m := math.Log(d.file.Protocol.Margin); ratio && math.Abs(e.mean) < m {
		e.equivalent, err = d.excludes(values, m, -m)
	}
	return err
}

// excludes tells whether the look rejects each of some true effects.
func (d *Drive) excludes(values []float64, effects ...float64) (bool, error) {
	for _, mu := range effects {
		shifted := make([]float64, len(values))
		for i, v := range values {
			shifted[i] = v - mu
		}
		r, err := d.seqOf().Decide(shifted)
		if err != nil || !r.Rejected {
			return false, err
		}
	}
	return true, nil
}

// values are the log-ratios of the first n blocks; if a run moved no data, the differences and
// false.
func (e *effect) values(n int) (values []float64, ratio bool) {
	baseline, treated := e.sides(n)
	if logs, ok := logRatios(baseline, treated); ok {
		return logs, true
	}
	for i := range baseline {
		values = append(values, treated[i]-baseline[i])
	}
	return values, false
}

// seqOf is the test with its looks.
func (d *Drive) seqOf() study.Sequence {
	s := d.seq
	if d.draws > 0 {
		s.Draws = d.draws
	}
	return s
}

// show computes p, also above alpha, and the interval at the last look.
func (d *Drive) show(e *effect) (shown, error) {
	if e.shown != nil && e.shown.blocks == e.blocks {
		return *e.shown, nil
	}
	out := shown{blocks: e.blocks, p: 1}
	for _, look := range d.file.Protocol.Looks {
		if look > e.blocks {
			break
		}
		values, _ := e.values(look)
		p, err := d.smallestLevel(values)
		if err != nil {
			return out, err
		}
		out.p = min(out.p, p)
	}
	out.p = min(out.p, e.p)
	if values, ratio := e.values(e.blocks); ratio {
		var err error
		if out.lo, out.hi, err = d.seqOf().Interval(values); err != nil {
			return out, err
		}
	}
	e.shown = &out
	return out, nil
}

// smallestLevel is the smallest error rate, spent over all looks as planned, at
// which this look rejects: the sequential p-value. Its minimum over the looks so far is a
// valid p-value whenever the study stops, so Holm's correction may be applied to it (Q. Liu,
// K. M. Anderson, J. Am. Statist. Assoc. 103 (2008) 1621; W. Maurer, F. Bretz, Stat. Biopharm.
// Res. 5 (2013) 311).
func (d *Drive) smallestLevel(values []float64) (float64, error) {
	rejects := func(alpha float64) (bool, error) {
		s, err := study.NewSequence(alpha, d.file.Protocol.Seed, d.file.Protocol.Looks...)
		if err != nil {
			return false, err
		}
		s.Draws = d.seqOf().Draws
		r, err := s.Decide(values)
		return r.Rejected, err
	}
	// On a scale of logarithms, to within 2%: 2^-16 is below what any look here
	// can reach.
	const steps = 500
	low, high := 0, steps // p = 2^(-16*(1-i/steps))
	at := func(i int) float64 { return math.Exp2(-16 * (1 - float64(i)/steps)) }
	for low < high {
		mid := (low + high) / 2
		ok, err := rejects(at(mid))
		if err != nil {
			return 1, err
		}
		if ok {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return at(high), nil
}

// holm returns the p-values of the effects after correction for all that the file declared on
// the primary workload, including those that were not tried. p gives an effect's own.
func (d *Drive) holm(p func(*effect) float64) map[*effect]float64 {
	var declared []*effect
	var alone []float64
	for _, e := range d.found {
		if e.primary {
			declared, alone = append(declared, e), append(alone, p(e))
		}
	}
	out := make(map[*effect]float64, len(alone))
	for i, adjusted := range study.Holm(alone) {
		out[declared[i]] = adjusted
	}
	return out
}

// deciding is the p-value by which an effect is decided: exact up to alpha, and
// above it 1, which leaves all corrected values up to alpha as they are.
func deciding(e *effect) float64 { return e.p }

// verdict is the conclusion of the last look, given the p-value to use.
func (d *Drive) verdict(e *effect, p float64) string {
	shown := e.rejects && p <= d.file.Protocol.Alpha
	switch {
	case e.equivalent:
		return model.StudyNoEffect
	case shown && e.mean > 0:
		return model.StudyGain
	case shown && e.mean < 0:
		return model.StudyLoss
	}
	return model.StudyUndecided
}

// settled reports whether a comparison needs no more blocks: its effects on the primary
// workload are shown or excluded, or the last look is done.
func (d *Drive) settled(c *comparison, holm map[*effect]float64) bool {
	if c.over() {
		return true
	}
	if c.aa() {
		return c.done() >= d.file.Protocol.AA
	}
	if c.searches() {
		return c.search.Over()
	}
	if c.paper {
		return c.agreed(d.file.Protocol) != nil || c.done() >= d.file.Protocol.Most
	}
	looks := d.file.Protocol.Looks
	if c.done() >= looks[len(looks)-1] {
		return true
	}
	for _, e := range d.found {
		if e.of == c && e.primary && !c.gaveUp(e) && d.verdict(e, holm[e]) == model.StudyUndecided {
			return false
		}
	}
	return true
}

// gaveUp tells whether an effect's level was given up.
func (c *comparison) gaveUp(e *effect) bool {
	return slices.ContainsFunc(c.lost, func(l lost) bool { return l.factor == e.factor && l.level == e.level })
}

// stuck tells whether a crossed design lost a level that its cases need.
func (c *comparison) stuck() bool {
	return slices.ContainsFunc(c.lost, func(l lost) bool { return l.conclusion == model.StudyNotTried })
}

// agreed is the group of runs that passed the gate of protocol "paper"; nil:
// none has.
func (c *comparison) agreed(p model.StudyProtocol) []float64 {
	g, err := c.gated(p)
	if err != nil || !g.Passed {
		return nil
	}
	return g.Kept
}

func (c *comparison) gated(p model.StudyProtocol) (study.Gated, error) {
	var runs []float64
	for _, b := range c.blocks {
		if b.next() != nil {
			break
		}
		for _, s := range b.slots {
			runs = append(runs, s.value)
		}
	}
	return study.Gate{Runs: p.Runs, RSD: p.RSD, Margin: p.Margin - 1}.Apply(runs)
}

// group adds the n-th group of runs of a case of protocol "paper".
func (c *comparison) group(n int, add func(Want)) {
	w := Want{Stage: StageReference, Block: n, Factor: c.factor, Level: c.level, Workload: c.workloads[0], Steps: c.steps}
	if c.reference != nil {
		w.Stage = StageCompare
	}
	for range c.file.Protocol.Runs {
		add(w)
	}
}

// paperCases are the baseline and every level in the order of the file, each
// workload by itself; in design "sequence" the steps of the baseline come first,
// and the last of them is what the levels are compared with.
func paperCases(f model.StudyFile) []*comparison {
	var out []*comparison
	base := map[string]*comparison{}
	first := len(f.Baseline)
	if f.Protocol.Design == file.Sequence {
		first = 0
	}
	for _, w := range f.Workloads {
		base[w.Name] = &comparison{file: &f, paper: true, steps: first, workloads: []string{w.Name}}
		out = append(out, base[w.Name])
	}
	add := func(factor string, l model.StudyLevel, steps int, becomes bool) {
		for _, w := range workloadsOf(f, l.Workload) {
			c := &comparison{file: &f, paper: true, factor: factor, level: l.Name, steps: steps, workloads: []string{w}, reference: base[w]}
			out = append(out, c)
			if becomes {
				base[w] = c
			}
		}
	}
	for i := first; i < len(f.Baseline); i++ {
		add(file.StepFactor, f.Baseline[i], i+1, true)
	}
	for _, x := range f.Factors {
		for _, l := range x.Levels {
			add(x.Name, l, len(f.Baseline), false)
		}
	}
	return out
}
