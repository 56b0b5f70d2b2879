package block

import (
	"slices"

	"linerate/internal/unit"
)

// MaxPoints is how many points of a series a result has: an hour of seconds.
const MaxPoints = 3600

// Bound merges seconds of a long run until there are at most so many points, and
// says how many seconds each of them is. What was moved is added up, maxima stay.
func Bound(seconds []Second, most int) (points []Second, each int) {
	each = max(1, (len(seconds)+most-1)/most)
	if each == 1 {
		return seconds, 1
	}
	for part := range slices.Chunk(seconds, each) {
		var sum Second
		for _, s := range part {
			sum.merge(s)
		}
		points = append(points, sum)
	}
	return points, each
}

func (t *Second) merge(s Second) {
	t.Reads += s.Reads
	t.Writes += s.Writes
	t.ReadBytes += s.ReadBytes
	t.WrittenBytes += s.WrittenBytes
	t.MaxLatency = max(t.MaxLatency, s.MaxLatency)
	t.SumLatency += s.SumLatency
}

// Change is where a run became another one: a cache that was full, credits that
// were used up.
type Change struct {
	At    int        `json:"at_s"`        // whole seconds of the measured part before it
	After unit.Bytes `json:"after_bytes"` // moved until then
	// Medians of bytes per second before and behind.
	Before float64 `json:"before_bytes_per_s"`
	Behind float64 `json:"behind_bytes_per_s"`
}

// When a change counts.
const (
	leastSeries = 20  // seconds
	leastSide   = 5   // seconds on each side, and a tenth of all
	leastChange = 0.2 // of the larger median
)

// FindChange returns the place that parts the seconds best into two levels (least
// squares), nil where that is no change worth the name: the medians must differ by a
// fifth, and nine tenths of the seconds on the slower side must lie below nine
// tenths of those on the faster. It is pure.
func FindChange(seconds []Second) *Change {
	n := len(seconds) - 1 // the last second may be short
	if n < leastSeries {
		return nil
	}
	v := make([]float64, n)
	before := make([]float64, n+1) // sums
	for i := range n {
		v[i] = float64(seconds[i].ReadBytes + seconds[i].WrittenBytes)
		before[i+1] = before[i] + v[i]
	}
	side := max(leastSide, n/10)
	best, at := -1.0, 0
	for k := side; k <= n-side; k++ {
		a, b := before[k]/float64(k), (before[n]-before[k])/float64(n-k)
		if gain := (a - b) * (a - b) * float64(k) * float64(n-k); gain > best {
			best, at = gain, k
		}
	}
	first, second := slices.Sorted(slices.Values(v[:at])), slices.Sorted(slices.Values(v[at:]))
	low, high := first, second
	if middleOf(first) > middleOf(second) {
		low, high = second, first
	}
	if middleOf(high)-middleOf(low) < leastChange*middleOf(high) || low[len(low)*9/10] >= high[len(high)/10] {
		return nil
	}
	return &Change{At: at, After: unit.Bytes(before[at]), Before: middleOf(first), Behind: middleOf(second)}
}

// middleOf is the median of sorted values.
func middleOf(v []float64) float64 { return (v[(len(v)-1)/2] + v[len(v)/2]) / 2 }
