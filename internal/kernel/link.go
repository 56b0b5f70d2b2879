package kernel

import (
	"net"
	"net/netip"

	"linerate/internal/unit"
)

// Veth describes a pair of virtual Ethernet interfaces: one end in the
// caller's network namespace, the peer in that of process PeerPID.
type Veth struct {
	Name    string
	Peer    string
	PeerPID int
	MTU     int // of both ends at first
	MAC     net.HardwareAddr
	PeerMAC net.HardwareAddr
}

// Interface is how an interface of the caller's network namespace is to be.
type Interface struct {
	Name string
	MTU  int          // 0: leave
	Addr netip.Prefix // zero: none
	Up   bool
	// Neighbours are permanent address resolutions, so that no ARP is
	// needed on a link that may be losing packets.
	Neighbours map[netip.Addr]net.HardwareAddr
}

// TokenBucket is a tbf queueing discipline at the root of Dev, or below the
// class Parent (a handle such as 0x10001) if that is not 0.
type TokenBucket struct {
	Dev    string
	Parent uint32
	Rate   unit.BitRate
	Burst  unit.Bytes // at least rate/HZ and one super-packet (64 KiB)
	Limit  unit.Bytes // queue
}

// Netem is a netem queueing discipline (handle 1:) at the root of Dev.
type Netem struct {
	Dev   string
	Delay uint32  // one way, µs
	Loss  float64 // share of packets, 0..1
	Limit uint32  // packets that may be under way
}

// LinkState is what can be set on an interface, and what would change with it.
type LinkState struct {
	MTU            int // bytes
	MinMTU, MaxMTU int // that the driver takes, bytes; 0: not told
	TxQueueLen     int // packets
	IPv6           bool
	Above          []LinkAbove
}

// LinkAbove is an interface made on another one (a VLAN, a macvlan).
type LinkAbove struct {
	Name string
	MTU  int
}

// Qdisc is the queueing discipline at the root of an interface.
type Qdisc struct {
	// Kind is its name, empty while the interface is down.
	Kind string
	// Ours: SetQdisc put it there. Default: the kernel did, by
	// net.core.default_qdisc and the driver. Neither: somebody configured it.
	Ours, Default bool
	// Below are disciplines on the interface that somebody configured, and
	// that would go with the root.
	Below []string
	// MaxRate bounds each connection of an fq, in bytes/s; NoMaxRate: not.
	MaxRate uint32
}

// NoMaxRate is the MaxRate of an fq without a bound.
const NoMaxRate = 1<<32 - 1
