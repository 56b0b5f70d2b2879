package study

import (
	"slices"

	"linerate/internal/stat"
)

// Least is how many values of each state Worse wants. Of ten and ten from one distribution, the
// median of the second exceeds the first's by more than its range less than once in 100 times, even
// if the tail is as long as that of the square of an exponential.
const Least = 10

// Spread is some values of one quantity, all of one state.
type Spread struct {
	Low, Median, High float64
	N                 int
}

// SpreadOf is the spread of values; without any it has N 0.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{Low: slices.Min(values), Median: stat.Median(values), High: slices.Max(values), N: len(values)}
}

// Worse tells whether what was measured after a change is above what was measured before it, by
// more than the values before differ from each other without any change: their range is the A/A
// floor, which is never taken as less than least. More is worse: for times, and shares of losses.
//
// by is the difference of the medians. Of fewer than Least values it judges nothing.
func Worse(before, after Spread, least float64) (by, floor float64, worse bool) {
	if before.N < Least || after.N < Least {
		return 0, 0, false
	}
	floor = max(least, before.High-before.Low)
	by = after.Median - before.Median
	return by, floor, by > floor
}
