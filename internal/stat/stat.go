// Package stat holds the elementary statistics that several rooms need: mean,
// median, quantiles, standard deviation. It is pure, and refuses to judge: tests of
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
func Median[T ~float64](x []T) T {
	if len(x) == 0 {
		return T(math.NaN())
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// NearestRank is the least of the sorted values that at least the share q of them (above 0, to 1)
// do not exceed: one of them, never a mean of two. With 0.5 it is the median, and of an even number
// the lower of the middle two. It panics on none.
func NearestRank[T any](sorted []T, q float64) T {
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

// UpperMiddle is the median of sorted values, of an even number the upper of the middle two. It
// panics on none.
func UpperMiddle[T any](sorted []T) T { return sorted[len(sorted)/2] }

// RankBelow is the value at rank q*(n-1) of the sorted values, rounded down, q from 0 to 1: 0 is
// the least and 1 the largest of them. It panics on none.
func RankBelow[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1))] }

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
