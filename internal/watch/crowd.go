package watch

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Alike is the newest part of a window that covers at least a time and whose samples are of one
// kind: all list every connection, or all list some and have sums counted since the same time (then
// some is true). Samples of two kinds cannot be compared. If no part is long enough, it is the
// newest one.
func Alike(samples []model.Sample, least time.Duration) (part []model.Sample, some bool) {
	end := len(samples)
	for i := len(samples) - 1; i >= 0; i-- {
		if i > 0 && alike(samples[i-1], samples[i]) {
			continue
		}
		if p := samples[i:end]; part == nil || p[len(p)-1].At-p[0].At >= least {
			part, some = p, samples[i].Totals != nil
			if p[len(p)-1].At-p[0].At >= least {
				return part, some
			}
		}
		end = i
	}
	return part, some
}

// alike reports whether two samples are of one kind.
func alike(a, b model.Sample) bool {
	if a.Totals == nil || b.Totals == nil {
		return a.Totals == nil && b.Totals == nil
	}
	return slices.ContainsFunc(a.Totals, func(x model.ConnTotal) bool { return totalOf(b, x.Remote, x.Since) != nil })
}

// totalOf is the sum of a peer in a sample that was counted since a time; nil: there is none.
func totalOf(s model.Sample, peer netip.Addr, since time.Duration) *model.ConnTotal {
	i := slices.IndexFunc(s.Totals, func(t model.ConnTotal) bool { return t.Remote == peer && t.Since == since })
	if i < 0 {
		return nil
	}
	return &s.Totals[i]
}

// Sum is what all connections of a host to one peer did in a window.
type Sum struct {
	Peer    netip.Addr
	Conns   int
	Out, In unit.BitRate
}

// Sums are what a host's connections did in a window whose samples have totals, of the peers that a
// function selects, the busiest peer first.
func Sums(samples []model.Sample, serves func(netip.Addr) bool) (out []Sum) {
	s, ok := spanOf(samples)
	if !ok {
		return nil
	}
	for _, l := range s.last.Totals {
		if !serves(l.Remote) {
			continue
		}
		f := totalOf(s.first, l.Remote, l.Since)
		if f == nil { // it had no connection then
			f = &model.ConnTotal{}
		}
		out = append(out, Sum{l.Remote, l.Conns, s.bits(f.BytesAcked, l.BytesAcked), s.bits(f.BytesReceived, l.BytesReceived)})
	}
	slices.SortFunc(out, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(max(b.Out, b.In), max(a.Out, a.In)), cmp.Compare(b.Conns, a.Conns), a.Peer.Compare(b.Peer))
	})
	return out
}

// accounts is the share of all moved bytes that the listed connections must have moved, so that the
// others count as idle.
const accounts = 0.99

// Account is what samples that list some of a host's connections show of all of them.
type Account struct {
	// Samples are the newest part of the window in which the listed connections moved what all
	// moved. They have only the connections that moved data or have some to send. nil: no such part
	// is long enough.
	Samples []model.Sample
	// Lately: they moved what all moved in one of the two newest intervals.
	Lately bool
}

// AccountOf compares what the listed connections moved with the sums of all, of the peers that a
// function selects. The samples have to be of one kind (see Alike).
func AccountOf(samples []model.Sample, serves func(netip.Addr) bool, least time.Duration) (out Account) {
	told, all, from := int64(0), int64(0), -1
	for i := len(samples) - 1; i > 0; i-- {
		some, sum := grew(samples[i-1], samples[i], serves)
		out.Lately = out.Lately || len(samples)-i <= 2 && sum > 0 && float64(some) >= accounts*float64(sum)
		told, all = told+some, all+sum
		if float64(told) >= accounts*float64(all) && samples[len(samples)-1].At-samples[i-1].At >= least {
			from = i - 1
		}
	}
	if from >= 0 {
		out.Samples = active(samples[from:])
	}
	return out
}

// grew is how many bytes went in both directions between two samples: over connections that both
// list, and over all.
func grew(a, b model.Sample, serves func(netip.Addr) bool) (told, all int64) {
	for _, t := range b.Totals {
		if !serves(t.Remote) {
			continue
		}
		f := totalOf(a, t.Remote, t.Since)
		if f == nil {
			f = &model.ConnTotal{}
		}
		all += max(0, t.BytesAcked-f.BytesAcked) + max(0, t.BytesReceived-f.BytesReceived)
	}
	before := make(map[connKey]*model.Conn, len(a.Conns))
	for i := range a.Conns {
		before[keyOf(a.Conns[i])] = &a.Conns[i]
	}
	for _, c := range b.Conns {
		if f := before[keyOf(c)]; f != nil && serves(c.Remote.Addr().Unmap()) {
			told += max(0, c.BytesAcked-f.BytesAcked) + max(0, c.BytesReceived-f.BytesReceived)
		}
	}
	return told, all
}

// active leaves in samples only the connections that moved data or have some to send. Which idle
// ones are listed changes from sample to sample, and would look like connections that begin and
// end.
func active(samples []model.Sample) []model.Sample {
	first, moved := map[connKey]model.Conn{}, map[connKey]bool{}
	for _, s := range samples {
		for _, c := range s.Conns {
			k := keyOf(c)
			f, seen := first[k]
			if !seen {
				first[k], f = c, c
			}
			if c.BytesAcked > f.BytesAcked || c.BytesReceived > f.BytesReceived || c.Unacked > 0 || c.NotSent > 0 {
				moved[k] = true
			}
		}
	}
	out := slices.Clone(samples)
	for i := range out {
		out[i].Conns = nil
		for _, c := range samples[i].Conns {
			if moved[keyOf(c)] {
				out[i].Conns = append(out[i].Conns, c)
			}
		}
	}
	return out
}
