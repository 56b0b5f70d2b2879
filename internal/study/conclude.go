package study

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"linerate/internal/stat"
)

// Margin is the smallest ratio worth having: two states whose whole interval lies
// within it are called equivalent.
const Margin = 1.02

// Equivalent tells whether an interval of a log-ratio excludes every effect
// larger than margin, a ratio above 1: the statement "no effect above 2%". An
// interval that merely contains 0 does not show that.
func Equivalent(lo, hi, margin float64) bool {
	m := math.Log(margin)
	return lo > -m && hi < m
}

// Holm adjusts the p-values of comparisons that were declared together, so that
// the chance of any false finding among them is that of a single comparison
// (S. Holm, Scand. J. Statist. 6 (1979) 65). The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(p[a], p[b]), a-b) })
	out := make([]float64, len(p))
	most := 0.0
	for rank, i := range order {
		most = max(most, min(1, p[i]*float64(len(p)-rank)))
		out[i] = most
	}
	return out
}

// Smallest is the smallest ratio above 1 that a test of this many blocks detects with power
// 0.9, when the log-ratio of a block has standard deviation spread and the test is two-sided
// at level alpha. It is the normal approximation (z(1-alpha/2)+z(0.9))*spread/sqrt(blocks),
// which is a little less than the sign-flip test needs with few blocks. Too few blocks to
// reject anything give +Inf.
func Smallest(spread float64, blocks int, alpha float64) float64 {
	if blocks < 1 || math.Exp2(1-float64(blocks)) > alpha {
		return math.Inf(1)
	}
	z := math.Sqrt2 * (math.Erfinv(1-alpha) + math.Erfinv(2*0.9-1))
	return math.Exp(z * spread / math.Sqrt(float64(blocks)))
}

// Gate is the acceptance rule of the older protocol: a case counts when its runs agree. To
// repeat runs until they agree hides how much the path varies, so the gate is only there for
// comparison with older studies.
type Gate struct {
	Runs   int     // number of runs that must agree
	RSD    float64 // their largest standard deviation over their mean
	Margin float64 // least relative difference to the baseline
}

// PaperGate is the gate of Dell's BP1057 (2013): three runs, all repeated when their relative
// standard deviation is above 1%; only differences above 5% count.
func PaperGate() Gate { return Gate{Runs: 3, RSD: 0.01, Margin: 0.05} }

// Gated is a case under a Gate.
type Gated struct {
	Kept      []float64
	Discarded [][]float64 // groups of runs that did not agree, in order
	Passed    bool
}

// Apply splits runs into groups, in the order in which they were run, and keeps the first
// group that agrees. It refuses a gate that no group can pass.
func (g Gate) Apply(runs []float64) (Gated, error) {
	if g.Runs < 2 || !(g.RSD > 0) {
		return Gated{}, fmt.Errorf("gate runs: %d runs within %v: want at least 2 runs and a bound above 0", g.Runs, g.RSD)
	}
	var out Gated
	for group := range slices.Chunk(runs, g.Runs) {
		if len(group) < g.Runs {
			break
		}
		if stat.Deviation(group)/stat.Mean(group) <= g.RSD {
			out.Kept, out.Passed = group, true
			return out, nil
		}
		out.Discarded = append(out.Discarded, group)
	}
	return out, nil
}
