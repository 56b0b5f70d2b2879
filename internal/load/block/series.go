package block

import (
	"math"
	"slices"

	"linerate/internal/stat"
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

// Change is where the rate of a run changed for good: a cache was full, or credits were
// used up.
type Change struct {
	Kind  Kind       `json:"kind"`
	At    int        `json:"at_s"`        // whole seconds of the measured part before it
	After unit.Bytes `json:"after_bytes"` // moved until then
	// Medians of bytes per second before and behind.
	Before float64 `json:"before_bytes_per_s"`
	Behind float64 `json:"behind_bytes_per_s"`
	// Cache is the one that would show like this, where the rate fell.
	Cache CacheOf `json:"cache,omitempty"`
}

// Kind of a change.
type Kind string

// A Cliff is where the rate fell at one point and stayed down; a Rise, where it rose.
const (
	Cliff Kind = "cliff"
	Rise  Kind = "rise"
)

// CacheOf says whose cache it is.
type CacheOf string

// Caches: this host's page cache, and what lies behind it: flash, a controller, a server's memory.
const (
	CacheOfHost   CacheOf = "page-cache"
	CacheOfTarget CacheOf = "target"
)

// When a change counts.
const (
	leastSeries = 20  // seconds
	leastSide   = 10  // seconds on each side, and a tenth of all
	leastChange = 0.2 // of the larger median
	// levelParts of a side of the change differ by at most this share of it: a rate that
	// wanders, or that falls little by little, has no place where it changed.
	levelParts  = 3
	levelSpread = 0.25
	// aboveNoise: the step is so many times what the seconds of a side vary by (as a normal
	// deviation, from the median of their deviations).
	aboveNoise = 8.0
	// abrupt: one level gives way to the other within so many seconds, and a crossing of the
	// middle elsewhere, as in a stall, lasts no longer; all of them together take at most
	// crossings of a side.
	abrupt    = 2
	crossings = 0.05
)

// FindChange returns the place that parts the seconds best into two levels (least
// squares), nil where that is no change worth the name: the medians must differ by a
// fifth, nine tenths of the seconds on the slower side must lie below nine tenths of those
// on the faster, each side must be level by itself, the step must stand out of what the
// seconds vary by, and one level must give way to the other once and at once. It is pure.
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
	at := partedAt(before)
	first, second := slices.Sorted(slices.Values(v[:at])), slices.Sorted(slices.Values(v[at:]))
	c := &Change{Kind: Cliff, At: at, After: unit.Bytes(before[at]), Before: stat.Median(first), Behind: stat.Median(second)}
	low, high := second, first
	if c.Behind > c.Before {
		c.Kind, low, high = Rise, first, second
	}
	step := stat.Median(high) - stat.Median(low)
	if step < leastChange*stat.Median(high) || low[len(low)*9/10] >= high[len(high)/10] {
		return nil
	}
	if step < aboveNoise*(deviation(first)+deviation(second))/2 {
		return nil
	}
	if !level(v[:at], levelSpread*step) || !level(v[at:], levelSpread*step) || !atOnce(v, at, (c.Before+c.Behind)/2) {
		return nil
	}
	return c
}

// partedAt is where the sums of a series part it best into two levels.
func partedAt(before []float64) (at int) {
	n := len(before) - 1
	side := max(leastSide, n/10)
	best := -1.0
	for k := side; k <= n-side; k++ {
		a, b := before[k]/float64(k), (before[n]-before[k])/float64(n-k)
		if gain := (a - b) * (a - b) * float64(k) * float64(n-k); gain > best {
			best, at = gain, k
		}
	}
	return at
}

// level tells that the parts of a side have medians that differ by at most so much.
func level(side []float64, most float64) bool {
	least, highest := math.Inf(1), math.Inf(-1)
	for i := range levelParts {
		part := side[len(side)*i/levelParts : len(side)*(i+1)/levelParts]
		m := stat.Median(part)
		least, highest = min(least, m), max(highest, m)
	}
	return highest-least <= most
}

// atOnce tells that the series crosses the middle between its levels at one place for good:
// elsewhere it stays beyond it for a moment only, as in a stall.
func atOnce(v []float64, at int, middle float64) bool {
	up := stat.Median(v[:at]) > middle
	for _, side := range [][]float64{v[:at], v[at:]} {
		beyond, all := 0, 0
		for _, x := range side {
			if (x > middle) == up {
				beyond = 0
				continue
			}
			if beyond++; beyond > abrupt {
				return false
			}
			all++
		}
		if all > max(1, int(crossings*float64(len(side)))) {
			return false
		}
		up = !up
	}
	return true
}

// deviation of sorted values: 1.4826 times the median of their distances from the median.
func deviation(sorted []float64) float64 {
	m := stat.Median(sorted)
	away := make([]float64, len(sorted))
	for i, x := range sorted {
		away[i] = math.Abs(x - m)
	}
	return 1.4826 * stat.Median(away)
}
