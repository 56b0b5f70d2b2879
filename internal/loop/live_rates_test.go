package loop

import (
	"net/netip"
	"testing"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Each path has the line rate that is stated for it, unless one is given for all.
func TestEachPathHasItsLineRate(t *testing.T) {
	for _, c := range []struct {
		all  model.Fact[unit.BitRate]
		want [3]unit.BitRate
	}{{model.Unknown[unit.BitRate](model.Absent, "not stated"), [3]unit.BitRate{unit.Gbit, 10 * unit.Gbit, 0}}, {model.Known(2 * unit.Gbit), [3]unit.BitRate{2 * unit.Gbit, 2 * unit.Gbit, 2 * unit.Gbit}}} {
		addrs := []netip.Addr{sendAddr, recvAddr}
		l := &Live{LineRate: c.all, LineRates: map[[2]int]model.StatedRate{{0, 2}: {Rate: unit.Gbit, Addrs: addrs}, {1, 2}: {Rate: 10 * unit.Gbit, Addrs: addrs}}}
		for i, key := range [][2]int{{0, 2}, {1, 2}, {0, 1}} {
			if got := l.lineRate(key, explain.Case{Sender: &explain.End{Peer: recvAddr}}).Or(0); got != c.want[i] {
				t.Errorf("%v given: path %v has %v, want %v", c.all, key, got, c.want[i])
			}
		}
	}
}

// What a lab states is the rate between the addresses that it gave two hosts: data that go over
// other addresses of theirs, such as those for management, have no stated rate.
func TestAStatedRateIsThatOfTheLabsAddresses(t *testing.T) {
	other := netip.MustParseAddr("10.9.9.9")
	end := func(peer netip.Addr) *explain.End { return &explain.End{Peer: peer} }
	l := &Live{LineRates: map[[2]int]model.StatedRate{{0, 1}: {Rate: unit.Gbit, Addrs: []netip.Addr{sendAddr, recvAddr}}}}
	for _, c := range []struct {
		name string
		of   explain.Case
		want unit.BitRate
	}{
		{"both ends", explain.Case{Sender: end(recvAddr), Receiver: end(sendAddr)}, unit.Gbit},
		{"the other way", explain.Case{Sender: end(sendAddr), Receiver: end(recvAddr)}, unit.Gbit},
		{"the sender alone", explain.Case{Sender: end(recvAddr)}, unit.Gbit},
		{"one end hides its connections", explain.Case{Sender: end(recvAddr), Receiver: end(netip.Addr{})}, unit.Gbit},
		{"to another address", explain.Case{Sender: end(other), Receiver: end(sendAddr)}, 0},
		{"from another address", explain.Case{Sender: end(recvAddr), Receiver: end(other)}, 0},
		{"no address is known", explain.Case{Sender: end(netip.Addr{})}, 0},
	} {
		if got := l.lineRate([2]int{0, 1}, c.of).Or(0); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
