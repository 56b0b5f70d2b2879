package study

import (
	"math"
)

// TwoOneSided is the p-value of the two one-sided tests that log-ratios differ by no more than
// margin, a ratio above 1: of "the effect is the margin or more" and of "it is minus the margin
// or less", the larger p. At or below alpha, both are refuted, and the two states are equivalent within the
// margin with an error of at most alpha; an effect that is merely not found shows no such
// thing. Each test is the sign-flip test, all patterns enumerated: the share of those whose sum
// lies as far to the other side as the one observed. No values, or more than MaxPairs, give 1.
//
// At alpha this decides as an interval of level 1-2*alpha that lies within the margin would;
// Equivalent of a 95% interval is stricter. Source: D. J. Schuirmann, J. Pharmacokinetics
// Biopharm. 15 (1987) 657; the tests are Fisher's, as SignFlip's is.
func TwoOneSided(logRatios []float64, margin float64) float64 {
	m := math.Log(margin)
	if !(m > 0) {
		return 1
	}
	return max(upperShare(shifted(logRatios, -m)), upperShare(negated(shifted(logRatios, m))))
}

// upperShare is the share of sign patterns of x whose sum is at least that of x: the one-sided p
// of "the centre is 0 or less".
func upperShare(x []float64) float64 {
	if len(x) == 0 || len(x) > MaxPairs {
		return 1
	}
	// Flipping the signs of a subset takes twice its sum away: as large, if that is 0 or less.
	zero, as := tie*absSum(x), 0
	sums := subsetSums(x)
	for _, s := range sums {
		if s <= zero {
			as++
		}
	}
	return float64(as) / float64(len(sums))
}

func negated(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = -v
	}
	return out
}
