package study

import (
	"context"
	"fmt"
	"math/rand/v2"

	"linerate/internal/model"
	"linerate/internal/stat"
)

// Effects that only planned looks find.
const (
	NoEffectAbove = model.StudyNoEffect  // every effect beyond Margin is excluded
	Undecided     = model.StudyUndecided // the last look shows none and excludes none
)

// RunLooks runs the A/A pairs, then pairs up to each planned look, as RunPairs
// does, and ends at the first look that shows an effect or excludes every effect
// beyond Margin. The looks are those of seq, fixed before the first run; Pairs of
// the options is not used. If a run moved no data there is no ratio: the looks then test
// differences, and no look excludes an effect. On an error there is no proof.
func RunLooks(ctx context.Context, o Options, seq Sequence, t Treatment, m Measure) (model.Proof, error) {
	if len(seq.Looks) == 0 {
		return model.Proof{}, fmt.Errorf("run study: no look is planned")
	}
	o.Pairs = seq.Looks[len(seq.Looks)-1].Blocks
	if err := o.check(o.Pairs); err != nil {
		return model.Proof{}, err
	}
	l := &loop{Options: o, treatment: t, measure: m}
	var s Series
	if err := l.aaPairs(ctx, &s); err != nil {
		return model.Proof{}, err
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	for {
		next := seq.Looks[0]
		for _, k := range seq.Looks {
			if next = k; k.Blocks > len(s.Pairs) {
				break
			}
		}
		l.Pairs = next.Blocks
		if err := l.pairs(ctx, &s, next.Blocks-len(s.Pairs), rng); err != nil {
			return model.Proof{}, err
		}
		if p, err := ProveAt(s, seq); err != nil || p.Effect != Undecided || len(s.Pairs) == o.Pairs {
			l.report("")
			return p, err
		}
	}
}

// ProveAt is Prove at a planned look: the number of pairs must be that of one.
// The test and the interval are those of the sequence; the effect is a gain or a
// loss where the look rejects, NoEffectAbove where the interval lies within
// Margin, and Undecided otherwise.
func ProveAt(s Series, seq Sequence) (model.Proof, error) {
	p, err := describe(s, seq.Looks[len(seq.Looks)-1].Blocks)
	if err != nil {
		return model.Proof{}, err
	}
	for _, k := range seq.Looks {
		p.Looks = append(p.Looks, k.Blocks)
	}
	logs, ratio := logRatios(s.Pairs)
	values := logs
	if !ratio {
		values = differences(s.Pairs)
		p.Warnings = append(p.Warnings, noRatio)
	}
	d, err := seq.Decide(values)
	if err != nil {
		return model.Proof{}, err
	}
	p.P, p.Effect = d.P, Undecided
	if d.Rejected {
		p.Effect = Gain
		if stat.Mean(values) < 0 {
			p.Effect = Loss
		}
	}
	if ratio {
		lo, hi, err := seq.Interval(logs)
		if err != nil {
			return model.Proof{}, err
		}
		p.Ratio = Exp(stat.Mean(logs))
		p.CILow = Exp(lo)
		p.CIHigh = Exp(hi)
		if !d.Rejected && Equivalent(lo, hi, Margin) {
			p.Effect = NoEffectAbove
		}
	}
	checkAA(&p, s.AA)
	return p, nil
}
