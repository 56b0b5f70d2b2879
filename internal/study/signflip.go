package study

import (
	"math"
	"math/bits"
	"slices"

	"linerate/internal/stat"
)

// MaxPairs is the largest number of pairs that is enumerated in full (2^20
// sign patterns).
const MaxPairs = 20

// tie is the relative size below which a sum counts as zero, so that rounding
// does not break ties.
const tie = 1e-12

// SignFlip returns the two-sided p-value of the hypothesis that logRatios are
// symmetric about zero: the share of all 2^n sign patterns whose sum is at
// least as far from zero as the one observed. It cannot be below 2/2^n: 0.031
// for 6 pairs, 0.0078 for 8. No values, or more than MaxPairs, give 1.
//
// Source: R. A. Fisher, The Design of Experiments (1935), chapter III.
func SignFlip(logRatios []float64) (p float64) {
	n := len(logRatios)
	if n == 0 || n > MaxPairs {
		return 1
	}
	sums := subsetSums(logRatios)
	all := len(sums) - 1
	zero := tie * absSum(logRatios)
	extreme := 0
	for s, a := range sums {
		// Flipping the signs of subset s gives a sum at least as large exactly when s and the
		// rest have opposite signs: |T-2a| >= |T| <=> a*(T-a) <= 0.
		rest := sums[all&^s]
		if math.Abs(a) <= zero || math.Abs(rest) <= zero || (a > 0) != (rest > 0) {
			extreme++
		}
	}
	return float64(extreme) / float64(len(sums))
}

// Interval returns the shifts mu that SignFlip does not reject at level alpha when mu is
// subtracted from every value: a confidence interval for the centre of logRatios, with
// coverage of at least 1-alpha. It is infinite if so few values cannot reject anything: below
// 6 pairs for alpha = 0.05.
//
// For shift mu a subset of signs counts as extreme exactly when mu lies
// between the subset's mean and the mean of the rest; so p(mu) rises up to the
// overall mean and falls after it, and its steps are those means.
func Interval(logRatios []float64, alpha float64) (lo, hi float64) {
	n := len(logRatios)
	if n == 0 || n > MaxPairs {
		return math.Inf(-1), math.Inf(1)
	}
	below, above := splitMeans(logRatios)
	// The empty and the full subset always count; every split counts twice.
	total := math.Exp2(float64(n))
	need := int(math.Floor((alpha*total-2)/2)) + 1 // splits that make p > alpha
	if need <= 0 {
		return math.Inf(-1), math.Inf(1)
	}
	if need > len(below) {
		m := stat.Mean(logRatios)
		return m, m
	}
	slices.Sort(below)
	slices.Sort(above)
	return below[need-1], above[len(above)-need]
}

// splitMeans returns, for every split of x into two parts that are not empty,
// the lower and the higher of the two means.
func splitMeans(x []float64) (below, above []float64) {
	sums := subsetSums(x)
	all := len(sums) - 1
	for s := 1; s < len(sums)/2; s++ { // the last value is always in the rest
		k := bits.OnesCount(uint(s))
		a := sums[s] / float64(k)
		b := sums[all&^s] / float64(len(x)-k)
		below = append(below, min(a, b))
		above = append(above, max(a, b))
	}
	return below, above
}

// subsetSums returns the sum of every subset of x, indexed by bit mask.
func subsetSums(x []float64) []float64 {
	sums := make([]float64, 1<<len(x))
	for s := 1; s < len(sums); s++ {
		sums[s] = sums[s&(s-1)] + x[bits.TrailingZeros(uint(s))]
	}
	return sums
}

func absSum(x []float64) float64 {
	t := 0.0
	for _, v := range x {
		t += math.Abs(v)
	}
	return t
}
