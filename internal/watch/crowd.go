package watch

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Alike is the newest part of a window, of at least so long, whose samples all tell every connection, or
// all tell some of them with sums of all (then some is true), counted since the same time: others cannot be
// compared. If no part is that long, it is the newest.
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

// alike tells whether two samples tell the same of connections.
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
