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

// Interface is the wanted state of an interface of the caller's network namespace.
type Interface struct {
	Name string
	MTU  int          // 0: leave
	Addr netip.Prefix // zero: none
	Up   bool
	// Neighbours are permanent neighbour entries, so that a link that may lose packets needs no
	// ARP.
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

// NetemParent is the class of SetNetem's discipline that can have a TokenBucket below it.
const NetemParent = 0x10001

// LinkState is what can be set on an interface, and what a change of it affects.
type LinkState struct {
	MTU            int  // bytes
	MinMTU, MaxMTU int  // that the driver takes, bytes; 0: not told
	TxQueueLen     int  // packets
	IPv6           bool // the kernel has it, and gives it to the interface from an MTU of 1280 on
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
	// Ours: SetQdisc set it. Default: the kernel did, by net.core.default_qdisc and the driver.
	// Neither: an administrator configured it.
	Ours, Default bool
	// Below are configured disciplines below the root, which a change of the root would remove.
	Below []string
	// MaxRate limits each connection of an fq, in bytes/s; NoMaxRate: unlimited.
	MaxRate uint32
}

// NoMaxRate is the MaxRate of an unlimited fq.
const NoMaxRate = 1<<32 - 1
