package study

import (
	"fmt"
	"math"
	"slices"
	"time"

	"linerate/internal/stat"
)

// Beside is two stretches of a path's time, one without and one with what is studied. Slot i
// of both is the same time since their beginning. From and To are the ends of the time from
// the beginning of the earlier to the end of the later.
type Beside struct {
	A, B     []Slot
	From, To time.Time
}

// Switched is what pairs of stretches show of something that was switched on and off.
type Switched struct {
	Each      []*float64 // ratio of each pair, B over A; nil: they moved data at no common time
	Groups    int        // pairs of which the time does not overlap; those that do count as one
	Ratio     *float64   // geometric mean of the groups; nil: none
	Low, High *float64   // interval of Ratio; nil: too few groups
	P         float64    // of SignFlip, not corrected; 1 without an interval
	Why       string     // there is no interval
}

// ObserveSwitched compares stretches in pairs. Each pair is one value, however long it is: what
// neighbouring records have in common, a whole day has in common too, so more records of the same
// day tell nothing more. Pairs that overlap in time are one value together: if all of B lies after
// all of A, there was only one change, and the path may have changed by itself. Fewer than 8 values
// give no interval. The values are in the order of time; if they are more than MaxPairs, neighbours
// are put together. Without a difference a pair is as likely to favour either side; the test
// assumes that. Nobody drew the order by lot, so whatever changes along with the thing looks like
// its effect.
func ObserveSwitched(all []Beside) Switched {
	s := Switched{P: 1}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y Beside) int { return x.From.Compare(y.From) })
	var groups [][]float64
	var end time.Time
	for i, x := range all {
		if i == 0 || !x.From.Before(end) {
			groups = append(groups, nil)
		}
		if x.To.After(end) {
			end = x.To
		}
		v, ok := commonRatio(x.A, x.B)
		if !ok {
			s.Each = append(s.Each, nil)
			continue
		}
		s.Each = append(s.Each, Exp(v))
		groups[len(groups)-1] = append(groups[len(groups)-1], v)
	}
	values := meansOf(groups)
	if s.Groups = len(values); s.Groups == 0 {
		s.Why = "no pair moved data at a common time"
		return s
	}
	s.Ratio = Exp(stat.Mean(values))
	if s.Groups < leastPairs {
		s.Why = fmt.Sprintf("%d of the pairs lie apart in time and moved data; it takes %d", s.Groups, leastPairs)
		return s
	}
	values = atMost(MaxPairs, values)
	lo, hi := Interval(values, observedAlpha)
	s.Ratio, s.P, s.Low, s.High = Exp(stat.Mean(values)), SignFlip(values), Exp(lo), Exp(hi)
	return s
}

// Conclude says what a comparison shows at a p that is corrected for all that were made. Nothing
// was applied, so that it is never a gain or a loss.
func (s Switched) Conclude(corrected float64) string {
	switch {
	case s.Low == nil:
		return Undecided
	case corrected <= observedAlpha && *s.Low > 1:
		return ObservedHigher
	case corrected <= observedAlpha && *s.High < 1:
		return ObservedLower
	case Equivalent(math.Log(*s.Low), math.Log(*s.High), Margin):
		return ObservedSame
	}
	return Undecided
}

// commonRatio is the log-ratio of the rates over the slots in which both moved data.
func commonRatio(a, b []Slot) (float64, bool) {
	var x, y Slot
	for i := range min(len(a), len(b)) {
		if a[i].moved() && b[i].moved() {
			x.Bytes, x.Seconds = x.Bytes+a[i].Bytes, x.Seconds+a[i].Seconds
			y.Bytes, y.Seconds = y.Bytes+b[i].Bytes, y.Seconds+b[i].Seconds
		}
	}
	if !x.moved() || !y.moved() {
		return 0, false
	}
	return logRate(y) - logRate(x), true
}

// meansOf are the means of the groups that hold something.
func meansOf(groups [][]float64) (out []float64) {
	for _, g := range groups {
		if len(g) > 0 {
			out = append(out, stat.Mean(g))
		}
	}
	return out
}

// atMost puts neighbours together until there are no more than most, equally many in each.
// What does not fill the last is left out, since a value of fewer weighs as much.
func atMost(most int, values []float64) (out []float64) {
	size := (len(values) + most - 1) / most
	for g := range slices.Chunk(values, size) {
		if len(g) == size {
			out = append(out, stat.Mean(g))
		}
	}
	return out
}
