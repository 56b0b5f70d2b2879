package loop

import (
	"net/netip"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// over tells whether a transfer that the ends' windows show has ended: one end has none of the connections now that
// moved data, and neither these nor an interface moved anything to speak of lately.
func over(ends ...[]model.Sample) bool {
	gone := false
	for _, samples := range ends {
		n := len(samples) - 1
		from := n
		for from > 0 && samples[n].At-samples[from].At < newest {
			from--
		}
		if n < 1 || busyLately(samples[from], samples[n]) {
			return false
		}
		gone = gone || !movedAny(samples)
	}
	return gone
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

// tries tells whether a connection of the case has data under way, or to send: then that nothing moves is a fault.
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

// movedAny tells whether one of the connections in the newest sample moved data in the window.
func movedAny(samples []model.Sample) bool {
	now := map[watchKey]model.Conn{}
	for _, c := range samples[len(samples)-1].Conns {
		now[keyOf(c)] = c
	}
	for _, s := range samples {
		for _, c := range s.Conns {
			if x, is := now[keyOf(c)]; is && x.BytesAcked+x.BytesReceived > c.BytesAcked+c.BytesReceived {
				return true
			}
		}
	}
	return false
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
