package drive

import (
	"fmt"
	"math"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/stat"
	"linerate/internal/study"
	"linerate/internal/study/file"
)

// Findings fill what a study found so far into s: comparisons, discarded groups
// of runs, advice (without what the settings were before and by default, which
// the file does not know), assumptions and threats; why it ended, and whether it
// is complete.
func (d *Drive) Findings(s *model.Study) (err error) {
	s.V, s.Name, s.Question, s.File = model.StudyVersion, d.file.Name, d.file.Question, d.file
	s.Protocol, s.Primary, s.Runs = d.file.Protocol.Name, d.file.Primary, d.runs
	if s.Comparisons, err = d.Comparisons(); err != nil {
		return err
	}
	s.AA, s.Search = d.identical(), d.searched()
	s.Discarded = d.discarded()
	s.Recommended = d.recommended(s.Comparisons)
	s.Ended, s.Complete = d.Ended()
	s.Assumptions = d.assumptions()
	s.Threats = slices.Concat([]model.Warning{}, s.Threats, d.threats(s.Comparisons))
	return nil
}

// Comparisons returns the conclusions so far on every level and every workload that it
// affects, in the order of the file.
func (d *Drive) Comparisons() ([]model.StudyComparison, error) {
	alone := map[*effect]shown{}
	for _, e := range d.found {
		x := shown{p: 1}
		if e.blocks > 0 {
			var err error
			if x, err = d.show(e); err != nil {
				return nil, fmt.Errorf("judge %s %s: %w", e.factor, e.level, err)
			}
		}
		alone[e] = x
	}
	holm := d.holm(func(e *effect) float64 { return alone[e].p })
	out := []model.StudyComparison{}
	for _, e := range d.found {
		c := model.StudyComparison{
			Factor: e.factor, Level: e.level, Workload: e.workload, Primary: e.primary,
			Made: e.of.made, Took: e.of.took, Unit: e.of.unit[e.workload], Effective: e.effective(),
		}
		if e.of.paper {
			d.paper(e, &c)
		} else {
			d.compared(e, &c, alone[e], holm[e], len(holm))
		}
		out = append(out, c)
	}
	return append(out, d.leftOut()...), nil
}

// leftOut returns the levels that were in force before the study began. They are listed so
// that they do not seem forgotten; p-values are not corrected for them.
func (d *Drive) leftOut() []model.StudyComparison {
	var out []model.StudyComparison
	for _, f := range d.file.LeftOut {
		for _, l := range f.Levels {
			for _, w := range workloadsOf(d.file, l.Workload) {
				out = append(out, model.StudyComparison{Factor: f.Name, Level: l.Name, Workload: w, Primary: w == d.file.Primary,
					Conclusion: model.StudyInForce, Why: "every value of it was in force before the study began: not compared"})
			}
		}
	}
	return out
}

// compared fills a comparison of protocol "linerate".
func (d *Drive) compared(e *effect, c *model.StudyComparison, alone shown, holm float64, declared int) {
	c.N = e.blocks
	if c.N == 0 {
		c.N = e.of.done()
	}
	baseline, treated := e.sides(c.N)
	if len(baseline) > 0 {
		c.Baseline, c.Treated = stat.Mean(baseline), stat.Mean(treated)
		if logs, ok := logRatios(baseline, treated); ok {
			c.Ratio = study.Exp(stat.Mean(logs))
		}
	}
	p := alone.p
	if e.blocks > 0 {
		c.P = &alone.p
		if e.primary {
			c.PHolm, p = &holm, holm
		}
		if e.ratio {
			c.CILow, c.CIHigh = study.Exp(alone.lo), study.Exp(alone.hi)
			c.Smallest = study.Exp(math.Log(study.Smallest(e.spread, e.blocks, d.file.Protocol.Alpha)))
		}
	}
	c.Conclusion = d.verdict(e, p)
	c.Why = d.because(e, c, declared)
	if conclusion, why, ok := e.given(); ok {
		c.Conclusion, c.Why = conclusion, why
	}
}

// given returns the conclusion and reason with which an effect was given up.
func (e *effect) given() (conclusion, why string, ok bool) {
	for _, l := range e.of.lost {
		if l.factor == e.factor && l.level == e.level {
			return l.conclusion, l.why, true
		}
	}
	return e.of.out, e.of.why, e.of.out != ""
}

// because adds the reason for a conclusion in words.
func (d *Drive) because(e *effect, c *model.StudyComparison, declared int) string {
	looks := d.file.Protocol.Looks
	switch {
	case e.of.done() == 0 && e.of.made == 0:
		c.Conclusion = model.StudyNotTried
		return "the study ended before it"
	case e.blocks == 0:
		return fmt.Sprintf("%d blocks; the first planned look is after %d", e.of.done(), looks[0])
	case !e.ratio && c.Conclusion != model.StudyUndecided:
		return "a run moved nothing, so there is no ratio: the test is on differences"
	case c.Conclusion == model.StudyNoEffect:
		return fmt.Sprintf("the whole interval lies within %.3g%% of none", 100*(d.file.Protocol.Margin-1))
	case c.Conclusion != model.StudyUndecided:
		return ""
	case e.primary && *c.P <= d.file.Protocol.Alpha:
		return fmt.Sprintf("p %.2g of this comparison alone, %.2g after correction for the %d that were declared", *c.P, *c.PHolm, declared)
	case e.blocks == looks[len(looks)-1]:
		return "the last planned look shows no effect and excludes none"
	}
	return fmt.Sprintf("the look after %d blocks shows no effect and excludes none, and no further look was reached", e.blocks)
}

// effective reports whether the level was seen in force in every run that has it; nil: no run
// checked it.
func (e *effect) effective() *bool {
	var out *bool
	for _, b := range e.of.blocks {
		for _, s := range b.slots {
			if with, _ := e.in(s); with && s.effective != nil {
				all := (out == nil || *out) && *s.effective
				out = &all
			}
		}
	}
	if e.of.out == model.StudyNotInForce {
		no := false
		return &no
	}
	return out
}

// paper fills a comparison of protocol "paper": the mean of the group that
// agreed over that of the baseline, and a difference beyond the margin or none.
func (d *Drive) paper(e *effect, c *model.StudyComparison) {
	p := d.file.Protocol
	treated, baseline := e.of.agreed(p), e.of.reference.agreed(p)
	c.N = len(treated)
	switch conclusion, why, given := e.given(); {
	case given:
		c.Conclusion, c.Why = conclusion, why
	case e.of.done() == 0:
		c.Conclusion, c.Why = model.StudyNotTried, "the study ended before it"
	case treated == nil:
		c.Conclusion, c.Why = model.StudyNotConverged, fmt.Sprintf("no group of %d runs lies within %.3g%%", p.Runs, 100*p.RSD)
	case baseline == nil:
		c.Conclusion, c.Why = model.StudyNotConverged, fmt.Sprintf("no group of %d runs of the baseline lies within %.3g%%", p.Runs, 100*p.RSD)
	}
	if c.Conclusion != "" {
		return
	}
	c.Baseline, c.Treated = stat.Mean(baseline), stat.Mean(treated)
	within := fmt.Sprintf("one group of %d runs and one of the baseline, at another time: no interval", p.Runs)
	if c.Baseline <= 0 {
		c.Conclusion, c.Why = model.StudyUndecided, "the baseline moved nothing: there is no ratio"
		return
	}
	ratio := c.Treated / c.Baseline
	c.Ratio, c.Why = &ratio, within
	switch {
	case ratio > p.Margin:
		c.Conclusion = model.StudyGain
	case ratio < 2-p.Margin:
		c.Conclusion = model.StudyLoss
	default:
		c.Conclusion = model.StudyNoEffect
	}
}

// identical returns what the A/A blocks of each workload show. The standard deviation of a
// block's log-ratio is that of a run times √2.
func (d *Drive) identical() []model.StudyAA {
	out := []model.StudyAA{}
	for _, w := range d.file.Workloads {
		blocks, logs := d.aaBlocks(w.Name)
		if blocks == 0 {
			continue
		}
		aa := model.StudyAA{Workload: w.Name, N: blocks, Looks: []model.StudyPlanLook{}}
		if len(logs) == blocks {
			p := study.SignFlip(logs)
			aa.Ratio, aa.P = study.Exp(stat.Mean(logs)), &p
		}
		if len(logs) > 1 {
			noise := stat.Deviation(logs) / math.Sqrt2
			aa.Noise = &noise
			for _, look := range d.seq.Looks {
				aa.Looks = append(aa.Looks, model.StudyPlanLook{
					Blocks: look.Blocks, After: time.Duration(2*look.Blocks) * d.runTime(w.Name),
					Smallest: study.Exp(math.Log(study.Smallest(noise*math.Sqrt2, look.Blocks, look.Spent))),
				})
			}
		}
		out = append(out, aa)
	}
	return out
}

// discarded are the groups of runs that did not agree.
func (d *Drive) discarded() []model.StudyDiscarded {
	out := []model.StudyDiscarded{}
	if d.file.Protocol.Name != file.Paper {
		return out
	}
	for _, c := range d.units {
		g, err := c.gated(d.file.Protocol)
		if err != nil { // the file's gate was checked when it was read
			continue
		}
		for i, values := range g.Discarded {
			x := model.StudyDiscarded{Factor: c.factor, Level: c.level, Workload: c.workloads[0], Values: values}
			if m := stat.Mean(values); m > 0 {
				x.RSD = stat.Deviation(values) / m
			}
			for _, s := range c.blocks[i].slots {
				x.Runs = append(x.Runs, s.n)
			}
			out = append(out, x)
		}
	}
	return out
}

// recommended returns the settings of the levels that are recommended: for each factor the
// level with the largest ratio among those with a gain on the primary workload.
func (d *Drive) recommended(all []model.StudyComparison) []model.StudyAdvice {
	best := map[string]model.StudyComparison{}
	var order []string
	for _, c := range all {
		if !c.Primary || c.Conclusion != model.StudyGain {
			continue
		}
		if have, ok := best[c.Factor]; !ok {
			order = append(order, c.Factor)
			best[c.Factor] = c
		} else if c.Ratio != nil && have.Ratio != nil && *c.Ratio > *have.Ratio {
			best[c.Factor] = c
		}
	}
	out := []model.StudyAdvice{}
	for _, factor := range order {
		for _, c := range d.parts(best[factor]) {
			out = append(out, d.advice(c)...)
		}
	}
	return out
}

func (d *Drive) advice(c model.StudyComparison) []model.StudyAdvice {
	why := "without it nothing moved"
	switch {
	case c.Ratio != nil && c.CILow != nil:
		high := "and no upper bound"
		if c.CIHigh != nil {
			high = fmt.Sprintf("to %.3f", *c.CIHigh)
		}
		why = fmt.Sprintf("%s of %s is %.3f times the baseline's (from %.3f %s, %d blocks)", c.Unit, c.Workload, *c.Ratio, *c.CILow, high, c.N)
	case c.Ratio != nil:
		why = fmt.Sprintf("%s of %s is %.3f times the baseline's (%d runs, no interval)", c.Unit, c.Workload, *c.Ratio, c.N)
	}
	l := d.level(c.Factor, c.Level)
	if l.Instruct != "" {
		a := model.StudyAdvice{Instruct: l.Instruct, Factor: c.Factor, Why: why}
		if l.Verify != nil {
			a.Host, a.Value = l.Verify.Host, l.Verify.Is
		}
		return []model.StudyAdvice{a}
	}
	var out []model.StudyAdvice
	for _, s := range l.Set {
		out = append(out, model.StudyAdvice{Host: s.Host, Setting: s.Setting, Target: s.Target, Value: s.Value, Factor: c.Factor, Why: why})
	}
	return out
}

// level finds a level, or a step of the baseline, by its names.
func (d *Drive) level(factor, level string) model.StudyLevel {
	levels := d.file.Baseline
	for _, f := range d.file.Factors {
		if f.Name == factor {
			levels = f.Levels
		}
	}
	if i := slices.IndexFunc(levels, func(l model.StudyLevel) bool { return l.Name == level }); i >= 0 {
		return levels[i]
	}
	return model.StudyLevel{}
}

// logRatios are log(treated/baseline), and false where a side moved nothing.
func logRatios(baseline, treated []float64) ([]float64, bool) {
	out := make([]float64, len(baseline))
	for i := range out {
		if baseline[i] <= 0 || treated[i] <= 0 {
			return nil, false
		}
		out[i] = math.Log(treated[i] / baseline[i])
	}
	return out, true
}
