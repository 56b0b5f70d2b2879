package watch

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/stat"
)

// What counts as a turn of a path's rate: the parts before and after it are long enough to have a
// rate, and the two rates differ by a quarter and by far more than either varies.
const (
	turnBin    = 500 * time.Millisecond
	turnBefore = 3 // bins
	turnAfter  = 6
	turnRatio  = 0.75
	turnSigmas = 4
)

// Turn finds the moment within a window from which on the path behaves differently: other connections
// carry its data (Begun), or its rate changed for good (Changed). What came before that moment says
// nothing about the path as it is now. False: there is no such moment.
func Turn(samples []model.Sample, serves func(netip.Addr) bool) (time.Duration, bool) {
	begun, other := Begun(samples, serves)
	if other {
		samples = After(samples, begun)
	}
	if at, ok := Changed(samples, serves); ok {
		return at, true
	}
	return begun, other
}

// minor: a connection that moved less than this share of the data does not count.
const minor = 0.01

// Begun is when the connections that carry the data now began, if all that carried it before are gone:
// the old ones had windows and buffers of their own, so they say nothing about the new ones. serves
// tells which peers count. False: some of the connections carried data before, or they began too
// recently to be judged, or samples are partial, which do not show when a connection began.
func Begun(samples []model.Sample, serves func(netip.Addr) bool) (time.Duration, bool) {
	if len(samples) < 2 || partial(samples) {
		return 0, false
	}
	last := samples[len(samples)-1].At
	now := carriers(After(samples, last-turnAfter*turnBin), serves)
	if len(now) == 0 {
		return 0, false
	}
	began := slices.IndexFunc(samples, func(s model.Sample) bool {
		return slices.ContainsFunc(s.Conns, func(c model.Conn) bool { return now[keyOf(c)] })
	})
	at := samples[began].At
	if began == 0 || last-at < turnAfter*turnBin {
		return 0, false
	}
	before := carriers(samples[:began+1], serves)
	for k := range carriers(samples[began:], serves) {
		if before[k] {
			return 0, false
		}
	}
	return at, len(before) > 0
}

// connKey identifies a connection, also against an earlier one with the same ports.
type connKey struct {
	local, remote netip.AddrPort
	inode         uint32
}

func keyOf(c model.Conn) connKey { return connKey{c.Local, c.Remote, c.Inode} }

// carriers are the connections that moved at least a minor share of the data in samples.
func carriers(samples []model.Sample, serves func(netip.Addr) bool) map[connKey]bool {
	first, moved, sum := map[connKey]int64{}, map[connKey]int64{}, int64(0)
	for _, s := range samples {
		for _, c := range s.Conns {
			if !serves(c.Remote.Addr().Unmap()) {
				continue
			}
			k, n := keyOf(c), c.BytesAcked+c.BytesReceived
			from, seen := first[k]
			if !seen {
				first[k], from = n, n
			}
			sum += n - from - moved[k]
			moved[k] = n - from
		}
	}
	out := map[connKey]bool{}
	for k, n := range moved {
		if n > 0 && float64(n) >= minor*float64(sum) {
			out[k] = true
		}
	}
	return out
}

// Changed is when the rate of a window's connections changed for good. Without it, what came before
// would keep a new fault unnamed until it makes up most of the window. The moment is the one that
// splits the window into the two most different rates, measured against their variation (the maximum
// likelihood of one step in a mean). False: the rate did not change, or so recently that what came
// after is too short to judge.
func Changed(samples []model.Sample, serves func(netip.Addr) bool) (time.Duration, bool) {
	bins, first := binned(samples, serves)
	best, at := 0.0, 0
	for k := turnBefore; k+turnAfter <= len(bins); k++ {
		a, b := bins[:k], bins[k:]
		ma, mb := stat.Mean(a), stat.Mean(b)
		if min(ma, mb) > turnRatio*max(ma, mb) {
			continue
		}
		n := float64(len(bins))
		gain := float64(len(a)*len(b)) / n * (ma - mb) * (ma - mb)
		scatter := math.Hypot(stat.Deviation(a)/math.Sqrt(float64(len(a))), stat.Deviation(b)/math.Sqrt(float64(len(b))))
		if gain > best && math.Abs(ma-mb) > turnSigmas*scatter {
			best, at = gain, k
		}
	}
	return first + time.Duration(at)*turnBin, at > 0
}

// After returns the samples from a time on, in a list of its own.
func After(samples []model.Sample, at time.Duration) []model.Sample {
	i := slices.IndexFunc(samples, func(s model.Sample) bool { return s.At >= at })
	if i < 0 {
		return nil
	}
	return slices.Clone(samples[i:])
}

// binned is how many bytes the connections moved in each whole half second of the window.
func binned(samples []model.Sample, serves func(netip.Addr) bool) (bins []float64, first time.Duration) {
	if len(samples) < 2 {
		return nil, 0
	}
	first = samples[0].At
	bins = make([]float64, int((samples[len(samples)-1].At-first)/turnBin))
	before := map[connKey]model.Conn{}
	for i, s := range samples {
		moved := 0.0 // since the sample before
		now := make(map[connKey]model.Conn, len(s.Conns))
		for _, c := range s.Conns {
			if !serves(c.Remote.Addr().Unmap()) {
				continue
			}
			k := keyOf(c)
			now[k] = c
			if b, ok := before[k]; ok {
				moved += float64(max(0, c.BytesAcked-b.BytesAcked, c.BytesReceived-b.BytesReceived))
			}
		}
		before = now
		if i > 0 {
			spread(bins, moved, samples[i-1].At-first, s.At-first)
		}
	}
	return bins, first
}

// spread adds what was moved between two moments to the bins between them: where a host is read seldom
// that is many, and none of them stood still.
func spread(bins []float64, moved float64, from, to time.Duration) {
	for n := max(0, int(from/turnBin)); n < len(bins) && time.Duration(n)*turnBin < to; n++ {
		begin := time.Duration(n) * turnBin
		in := min(to, begin+turnBin) - max(from, begin)
		bins[n] += moved * float64(in) / float64(to-from)
	}
}
