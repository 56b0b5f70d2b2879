package loop

import (
	"net/netip"
	"slices"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// over reports whether the transfer between two ends has ended: one of them had connections to the
// other that moved data and has none of them now, and lately no connection and no interface of
// either end moved more than a trickle. An end that never listed the transfer's connections,
// because a network namespace or a translated address hides them, says nothing about its end.
func over(a, b crowdEnd) bool {
	for _, samples := range [][]model.Sample{a.samples, b.samples} {
		n := len(samples) - 1
		from := n
		for from > 0 && samples[n].At-samples[from].At < newest {
			from--
		}
		if n < 1 || busyLately(samples[from], samples[n]) {
			return false
		}
	}
	return left(a.samples, b.has) || left(b.samples, a.has)
}

// busyLately tells whether a connection moved between two samples, or an interface more than what
// connections that nobody watches do.
func busyLately(a, b model.Sample) bool {
	before := map[watchKey]model.Conn{}
	for _, c := range a.Conns {
		before[keyOf(c)] = c
	}
	for _, c := range b.Conns {
		x, was := before[keyOf(c)]
		if !was || c.BytesAcked+c.BytesReceived > x.BytesAcked+x.BytesReceived || c.Unacked > 0 || c.NotSent > 0 {
			return true
		}
	}
	const beside = unit.Mbit
	for _, n := range b.NICs {
		for _, o := range a.NICs {
			if n.Name == o.Name && n.Name != "lo" && rate(max(n.RxBytes-o.RxBytes, n.TxBytes-o.TxBytes), []model.Sample{a, b}) > beside {
				return true
			}
		}
	}
	return false
}

// tries reports whether a connection of the case has data in flight or to send. If nothing moves
// then, it is a fault.
func tries(c explain.Case) bool {
	for _, e := range []*explain.End{c.Sender, c.Receiver} {
		if e == nil || len(e.Samples) == 0 {
			continue
		}
		for _, x := range e.Samples[len(e.Samples)-1].Conns {
			if x.Unacked > 0 || x.NotSent > 0 {
				return true
			}
		}
	}
	return false
}

// left tells whether connections to the peers that a function selects moved data in the window, and none of these is
// in the newest sample.
func left(samples []model.Sample, serves func(netip.Addr) bool) bool {
	first, moved := map[watchKey]int64{}, map[watchKey]bool{}
	for _, s := range samples {
		for _, c := range s.Conns {
			if !serves(c.Remote.Addr().Unmap()) {
				continue
			}
			k, n := keyOf(c), c.BytesAcked+c.BytesReceived
			if f, seen := first[k]; !seen {
				first[k] = n
			} else if n > f {
				moved[k] = true
			}
		}
	}
	still := func(c model.Conn) bool { return moved[keyOf(c)] }
	return len(moved) > 0 && !slices.ContainsFunc(samples[len(samples)-1].Conns, still)
}

// watchKey identifies a connection, also against an earlier one with the same ports.
type watchKey struct {
	local, remote netip.AddrPort
	inode         uint32
}

func keyOf(c model.Conn) watchKey { return watchKey{c.Local, c.Remote, c.Inode} }

// once is how many connections there are in a list that may have both ends of each.
func once(seen []watch.Conn) int {
	all := map[[2]netip.AddrPort]bool{}
	for _, c := range seen {
		if !all[[2]netip.AddrPort{c.Remote, c.Local}] {
			all[[2]netip.AddrPort{c.Local, c.Remote}] = true
		}
	}
	return len(all)
}
