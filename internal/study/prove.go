package study

import (
	"errors"
	"fmt"
	"math"

	"linerate/internal/model"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// Alpha is the error rate of the test and one minus the coverage of the
// interval.
const Alpha = 0.05

// aaTolerance is how far the mean A/A ratio may be from 1 without a warning about the noise of
// the path.
const aaTolerance = 0.05

// Effects that Prove finds. A caller whose treatment was applied but did not
// take effect reports NotInForce instead of asking Prove.
const (
	Gain       = "gain"
	Loss       = "loss"
	NoEffect   = "no effect"
	NotInForce = "not in force"
)

// Pair is the goodput of two runs that belong together, in bits per second.
type Pair struct{ Baseline, Treated float64 }

// Series is what RunPairs measured. In AA neither run was treated: Baseline
// is the first of the two.
type Series struct{ Pairs, AA []Pair }

// Prove tests the pairs and fills everything of a proof but Treatment and By.
// The effect is a gain or a loss when p <= Alpha and the interval of the ratio
// does not contain 1; "no effect" means that these pairs show none. If a run moved no data
// there is no ratio: Ratio and the interval are nil and the test is on differences. It refuses
// series that no study produces: no pair, more than MaxPairs, a goodput that is negative or
// not a number.
func Prove(s Series) (model.Proof, error) {
	p, err := describe(s, MaxPairs)
	if err != nil {
		return model.Proof{}, err
	}
	if len(s.Pairs) < 6 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d pairs cannot show an effect at p <= %.2g: run at least 6", len(s.Pairs), Alpha))
	}
	if logs, ok := logRatios(s.Pairs); ok {
		proveRatio(&p, logs)
	} else {
		proveDifference(&p, s.Pairs)
	}
	checkAA(&p, s.AA)
	return p, nil
}

// describe fills in what was measured, in at most that many pairs, without conclusions.
func describe(s Series, most int) (model.Proof, error) {
	if err := check(s, most); err != nil {
		return model.Proof{}, err
	}
	p := model.Proof{Pairs: len(s.Pairs), AAPairs: len(s.AA), P: 1, AAP: 1, Effect: NoEffect}
	for _, pair := range s.Pairs {
		p.Baseline = append(p.Baseline, unit.BitRate(pair.Baseline))
		p.Treated = append(p.Treated, unit.BitRate(pair.Treated))
	}
	for _, pair := range s.AA {
		p.AA = append(p.AA, unit.BitRate(pair.Baseline), unit.BitRate(pair.Treated))
	}
	return p, nil
}

func check(s Series, most int) error {
	if n := len(s.Pairs); n == 0 || n > most {
		return fmt.Errorf("prove treatment: %d pairs, want 1 to %d", n, most)
	}
	if n := len(s.AA); n > MaxPairs {
		return fmt.Errorf("prove treatment: %d A/A pairs, want at most %d", n, MaxPairs)
	}
	for _, pairs := range [][]Pair{s.Pairs, s.AA} {
		for i, p := range pairs {
			if !goodput(p.Baseline) || !goodput(p.Treated) {
				return fmt.Errorf("prove treatment: pair %d has goodputs %v and %v: %w", i+1, p.Baseline, p.Treated, errGoodput)
			}
		}
	}
	return nil
}

var errGoodput = errors.New("a goodput is a finite number of bits per second, at least 0")

func goodput(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// proveRatio fills ratio, interval, p and effect from log-ratios.
func proveRatio(p *model.Proof, logs []float64) {
	p.P = SignFlip(logs)
	p.Ratio = Exp(stat.Mean(logs))
	lo, hi := Interval(logs, Alpha)
	p.CILow = Exp(lo)
	p.CIHigh = Exp(hi)
	switch {
	case p.P > Alpha:
	case lo > 0:
		p.Effect = Gain
	case hi < 0:
		p.Effect = Loss
	}
}

// proveDifference tests treated minus baseline if there is no ratio.
func proveDifference(p *model.Proof, pairs []Pair) {
	diffs := differences(pairs)
	p.P = SignFlip(diffs)
	p.Warnings = append(p.Warnings, noRatio)
	switch {
	case p.P > Alpha:
	case stat.Mean(diffs) > 0:
		p.Effect = Gain
	default:
		p.Effect = Loss
	}
}

const noRatio = "a run moved nothing, so there is no ratio: the test is on differences"

func differences(pairs []Pair) []float64 {
	diffs := make([]float64, len(pairs))
	for i, pair := range pairs {
		diffs[i] = pair.Treated - pair.Baseline
	}
	return diffs
}

// checkAA fills in the A/A figures and warns if they cast doubt on the effect.
func checkAA(p *model.Proof, aa []Pair) {
	if len(aa) == 0 {
		p.Warnings = append(p.Warnings, "no A/A check was made: the noise of the path is not known")
		return
	}
	logs, ok := logRatios(aa)
	if !ok {
		// On a blackholed path neither run moves data: the runs are alike, and there is no
		// ratio.
		return
	}
	p.AAP = SignFlip(logs)
	p.AARatio = Exp(stat.Mean(logs))
	if p.AAP <= Alpha || math.Abs(*p.AARatio-1) > aaTolerance {
		p.Warnings = append(p.Warnings, fmt.Sprintf("identical runs differ by a factor of %.3g: %s", *p.AARatio, WhyIdenticalDiffer(p.AAP)))
	}
	spread := maxAbs(logs)
	if (p.Effect == Gain || p.Effect == Loss) && p.CILow != nil && math.Log(*p.CILow) >= -spread && math.Log(*p.CIHigh) <= spread {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the effect lies within what identical runs differ by (factor %.3g): repeat the study on a quieter path", math.Exp(spread)))
	}
}

// logRatios returns log(treated/baseline) of every pair, and false when a run
// moved nothing.
func logRatios(pairs []Pair) ([]float64, bool) {
	logs := make([]float64, len(pairs))
	for i, p := range pairs {
		if p.Baseline == 0 || p.Treated == 0 {
			return nil, false
		}
		logs[i] = math.Log(p.Treated / p.Baseline)
	}
	return logs, true
}

// Exp returns e^x, or nil if that is not a finite number above 0: JSON has no infinity, so an
// unbounded end of an interval is left out.
func Exp(x float64) *float64 {
	v := math.Exp(x)
	if v == 0 || !stat.Finite(v) {
		return nil
	}
	return &v
}

func maxAbs(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// WhyIdenticalDiffer says what a difference of identical runs means; p is that of their test. Four
// pairs, however alike, show no more than that one of two things is so.
func WhyIdenticalDiffer(p float64) string {
	if p <= Alpha {
		return "something changes the path while it is measured"
	}
	return "the path varies as much by itself, or something changes it while it is measured"
}
