package explain

import (
	"math"
	"slices"

	"linerate/internal/stat"
)

// Unknown features are NaN: every comparison with one is false, so a detector
// that lacks a feature does not fire, and finite() keeps them out of verdicts.

func unknown() float64 { return math.NaN() }

func known(v float64) bool { return stat.Finite(v) }

// quantile of the known values, by stat.RankBelow; unknown when there are none.
func quantile(vs []float64, q float64) float64 {
	vs = slices.DeleteFunc(slices.Clone(vs), func(v float64) bool { return !known(v) })
	if len(vs) == 0 {
		return unknown()
	}
	slices.Sort(vs)
	return stat.RankBelow(vs, q)
}

// lowerMedian is one of the known values, of an even number the lower of the middle two.
func lowerMedian(vs []float64) float64 { return quantile(vs, 0.5) }

// ratio is a/b, unknown when b is not positive.
func ratio(a, b float64) float64 {
	if !(b > 0) || !known(a) {
		return unknown()
	}
	return a / b
}

// each collects one number per observation.
func each(os []obs, f func(obs) float64) []float64 {
	out := make([]float64, len(os))
	for i, o := range os {
		out[i] = f(o)
	}
	return out
}

// share of the observations for which f holds.
func share(os []obs, f func(obs) bool) float64 {
	n := 0
	for _, o := range os {
		if f(o) {
			n++
		}
	}
	return ratio(float64(n), float64(len(os)))
}

// over maps how far v went past a threshold to 0..1, 1 at full and beyond.
// It works both ways: full below threshold for "smaller is stronger".
func over(v, threshold, full float64) float64 {
	m := (v - threshold) / (full - threshold)
	if !known(m) {
		return 0
	}
	return min(1, max(0, m))
}
