package watch

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/stat"
)

// What a turn of a path's rate has to be: the parts before and after it are long enough to have a
// rate, and the rates differ by a quarter and by far more than either scatters.
const (
	turnBin    = 500 * time.Millisecond
	turnBefore = 3 // bins
	turnAfter  = 6
	turnRatio  = 0.75
	turnSigmas = 4
)

// Turn is where the rate at which a window's connections to some peers moved data changed for good:
// what came before tells of another path than the one that is there now, and would keep a fault
// unnamed until it is outweighed. False: it did not change, or not long enough ago to be judged by
// what came after. The place is that of the two rates that differ most for their scatter (the
// likelihood of one step in a mean).
func Turn(samples []model.Sample, serves func(netip.Addr) bool) (time.Duration, bool) {
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

// After are the samples from a time on; they share nothing with the list they come from.
func After(samples []model.Sample, at time.Duration) []model.Sample {
	i := slices.IndexFunc(samples, func(s model.Sample) bool { return s.At >= at })
	if i < 0 {
		return nil
	}
	return slices.Clone(samples[i:])
}

// binned is what the connections moved in each half second of the window, whole ones only.
func binned(samples []model.Sample, serves func(netip.Addr) bool) (bins []float64, first time.Duration) {
	if len(samples) < 2 {
		return nil, 0
	}
	type ends struct{ local, remote netip.AddrPort }
	first = samples[0].At
	bins = make([]float64, int((samples[len(samples)-1].At-first)/turnBin))
	before := map[ends]model.Conn{}
	for i, s := range samples {
		moved := 0.0
		now := make(map[ends]model.Conn, len(s.Conns))
		for _, c := range s.Conns {
			if !serves(c.Remote.Addr().Unmap()) {
				continue
			}
			k := ends{c.Local, c.Remote}
			now[k] = c
			if b, ok := before[k]; ok && b.Inode == c.Inode {
				moved += float64(max(0, c.BytesAcked-b.BytesAcked, c.BytesReceived-b.BytesReceived))
			}
		}
		before = now
		if n := int((s.At - first) / turnBin); i > 0 && n < len(bins) && n >= 0 {
			bins[n] += moved
		}
	}
	return bins, first
}
