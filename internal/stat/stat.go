// Package stat holds the elementary statistics that several rooms need: mean,
// median, standard deviation. It is pure, and refuses to judge: tests of
// hypotheses are the business of package study.
package stat

import (
	"math"
	"slices"
)

// Finite tells a number from NaN and the infinities.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Mean of x; NaN of none.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Median of x, the mean of the middle two of an even number; NaN of none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Deviation is the standard deviation of x as a sample (n-1); 0 of fewer than two.
func Deviation(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m := Mean(x)
	sum := 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}
