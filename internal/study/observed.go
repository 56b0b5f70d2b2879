package study

import (
	"fmt"
	"math"

	"linerate/internal/stat"
)

// What Observe concludes. It never says gain or loss: nothing was applied.
const (
	ObservedHigher = "higher"
	ObservedLower  = "lower"
	ObservedSame   = NoEffectAbove // the whole interval lies within Margin
)

const (
	// blockTimes is how many times longer than the memory a block is. The means of neighbouring
	// blocks then have a correlation of about 1/80 (first-order memory). A stretch that is too
	// short to show its whole memory seldom has enough blocks.
	blockTimes = 20
	leastPairs = 8
	mostPairs  = 12
	// observedAlpha is the error rate asked of the test so that Alpha holds: that the memory is
	// estimated from the same slots raises the rate, as simulated stretches show.
	observedAlpha = 0.02
)

// Slot is what a path carried in a short piece of time while it moved data. Seconds is 0
// where it moved none, or where nobody looked.
type Slot struct{ Bytes, Seconds float64 }

func (s Slot) moved() bool { return s.Seconds > 0 && s.Bytes > 0 }

// Observation is how a path differed between two stretches of time.
type Observation struct {
	Pairs     int      // pairs of blocks that were compared
	Block     int      // slots of a block; 0: there are none
	Memory    float64  // upper bound of the slots that count as one independent value; 1 or more
	Ratio     *float64 // geometric mean of the pairs' ratios, B over A; nil: no pairs
	Low, High *float64 // interval of Ratio that covers it in 1-Alpha of cases at least; nil: too few pairs
	P         float64  // of SignFlip; 1 without an interval
	Effect    string   // ObservedHigher, ObservedLower, ObservedSame or Undecided
	Why       string   // there is no interval
}

// Observe compares the rates of two stretches of time, slot i of b with slot i of a: with the
// same time of another day, if both begin at the same time of day. Only slots in which both
// moved data count. Neighbouring slots resemble each other, so that they are no independent
// values: the stretches are cut into at most 12 pairs of blocks, each at least 20 times as
// long as the memory of the slots' log-ratios, and the blocks' log-ratios are tested as those
// of a study are. Fewer than 8 pairs give no interval.
//
// Without a difference, a pair of blocks is as likely to favour either stretch; the test
// assumes that, but nobody drew the stretches by lot: what differs may have any cause.
//
// Sources: batch means, G. S. Fishman, Management Science 24 (1978) 510; the memory (one plus
// twice the sum of autocorrelations) is cut off by the initial positive sequence of C. J. Geyer,
// Statistical Science 7 (1992) 473.
func Observe(a, b []Slot) Observation {
	o := Observation{Memory: 1, P: 1, Effect: Undecided}
	a, b, logs := together(a, b)
	if len(logs) == 0 {
		o.Why = "the path moved data in both at no common time"
		return o
	}
	o.Memory = memory(logs)
	o.Block = max(int(math.Ceil(blockTimes*o.Memory)), (len(logs)+mostPairs-1)/mostPairs)
	blocks := blockRatios(a, b, o.Block)
	o.Pairs = len(blocks)
	if o.Pairs > 0 {
		o.Ratio = Exp(stat.Mean(blocks))
	}
	if o.Pairs < leastPairs {
		o.Why = fmt.Sprintf("%d pairs of blocks are long enough to be independent and moved data in at least half of their time; it takes %d", o.Pairs, leastPairs)
		return o
	}
	lo, hi := Interval(blocks, observedAlpha)
	o.P, o.Low, o.High = SignFlip(blocks), Exp(lo), Exp(hi)
	switch {
	case o.P <= observedAlpha && lo > 0:
		o.Effect = ObservedHigher
	case o.P <= observedAlpha && hi < 0:
		o.Effect = ObservedLower
	case Equivalent(lo, hi, Margin):
		o.Effect = ObservedSame
	}
	return o
}

// together cuts both to the slots from the first to the last in which both moved data, and
// returns the log-ratio of each, NaN of those in which one did not.
func together(a, b []Slot) (x, y []Slot, logs []float64) {
	first, last := -1, -1
	for i := range min(len(a), len(b)) {
		if a[i].moved() && b[i].moved() {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return nil, nil, nil
	}
	x, y = a[first:last+1], b[first:last+1]
	for i := range x {
		v := math.NaN()
		if x[i].moved() && y[i].moved() {
			v = logRate(y[i]) - logRate(x[i])
		}
		logs = append(logs, v)
	}
	return x, y, logs
}

func logRate(s Slot) float64 { return math.Log(s.Bytes / s.Seconds) }

// blockRatios are the log-ratios of the blocks in which both moved data in at least half of
// the slots. What does not fill a block at the end is left out.
func blockRatios(a, b []Slot, block int) (logs []float64) {
	for i := 0; i+block <= len(a); i += block {
		var x, y Slot
		both := 0
		for j := i; j < i+block; j++ {
			if a[j].moved() && b[j].moved() {
				both++
				x.Bytes, x.Seconds = x.Bytes+a[j].Bytes, x.Seconds+a[j].Seconds
				y.Bytes, y.Seconds = y.Bytes+b[j].Bytes, y.Seconds+b[j].Seconds
			}
		}
		if 2*both >= block {
			logs = append(logs, logRate(y)-logRate(x))
		}
	}
	return logs
}

// memory is how many values of a series count as one: one plus twice the sum of its
// autocorrelations, at least 1, and four standard errors more, since a block that is too short
// makes the interval too narrow. NaN are gaps.
func memory(x []float64) float64 {
	mean, n := 0.0, 0
	for _, v := range x {
		if !math.IsNaN(v) {
			mean, n = mean+v, n+1
		}
	}
	mean /= float64(n)
	at := func(lag int) float64 { // mean product of what lies lag apart
		sum, n := 0.0, 0
		for i := lag; i < len(x); i++ {
			if p := (x[i] - mean) * (x[i-lag] - mean); !math.IsNaN(p) {
				sum, n = sum+p, n+1
			}
		}
		return sum / float64(max(n, 1))
	}
	all := at(0)
	if !(all > tie*mean*mean) {
		return 1
	}
	g := -1.0 // the first autocorrelation, of lag 0, counts once
	for lag := 0; lag+1 < len(x); lag += 2 {
		two := (at(lag) + at(lag+1)) / all
		if two <= 0 {
			break
		}
		g += 2 * two
	}
	g = max(1, g)
	return g * (1 + 4*math.Sqrt(6*g/float64(n)))
}
