package model

import (
	"net/netip"
	"time"

	"linerate/internal/unit"
)

// Pair is what is known of two hosts and of the path between their data
// addresses, before any load.
type Pair struct {
	A, B       PairEnd
	Rate       Fact[unit.BitRate] // what one connection of the path should carry, as stated, or the rate of the ports meant
	RTT        Fact[RTT]          // without load
	AToB, BToA Crossing
}

// StatedRate is what the path between two hosts should carry by the description of their network,
// from and to these addresses of theirs alone.
type StatedRate struct {
	Rate  unit.BitRate
	Addrs []netip.Addr
}

// PairEnd is one of the two.
type PairEnd struct {
	Name    string
	Facts   *Facts
	Addr    netip.Addr // data address
	Meant   string     // interface that owns it
	Leaving Fact[Leaving]
	MACs    Fact[map[string]string] // hardware addresses by interface
}

// Leaving is how a host sends to the other's data address, as the kernel's
// routing answers with all tables and rules applied.
type Leaving struct {
	Interface string     `json:"interface"`
	MTU       int        `json:"mtu"`     // of that interface, bytes of IP packet
	Gateway   netip.Addr `json:"gateway"` // zero: on link
	// NextMAC is the next hop's hardware address by the neighbour table; empty:
	// not known.
	NextMAC string `json:"next_mac,omitempty"`
}

// Crossing is what became of probes in one direction. Sizes are bytes of IP
// packet, headers included.
type Crossing struct {
	Through Fact[bool] // small datagrams arrive
	// ArrivedBy are the far end's interfaces that they came in by.
	ArrivedBy []string
	PathMTU   Fact[int] // largest that arrived with the don't-fragment bit set
	Tried     int       // largest that the sender's interface allows; PathMTU is that, or less
	// Told is the MTU that an ICMP message reported, and ToldBy its sender; 0: the
	// packets that did not arrive vanished without one.
	Told   int
	ToldBy netip.Addr
	// Hops is how many routers the datagrams passed, by the hop limit that they arrived with,
	// and Routers are these, in order; one that does not answer has no address.
	Hops    Fact[int]
	Routers []netip.Addr
	// Fall is where PathMTU falls below Tried; nil: it does not, or no router was asked.
	Fall *Fall
}

// Fall is a stretch of a path on which packets above its MTU vanish. Without an address After is
// the sender, and Before the far end.
type Fall struct{ After, Before netip.Addr }

// RTT is the round trip of small datagrams, turn-around at the far end taken
// out.
type RTT struct {
	Min    time.Duration `json:"min_ns"`
	Median time.Duration `json:"median_ns"`
	Max    time.Duration `json:"max_ns"`
	N      int           `json:"n"` // answers
	Sent   int           `json:"sent"`
}
