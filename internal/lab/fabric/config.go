// Package fabric is the wires and switches of a lab: one process in a network
// namespace of its own, between the packet ports of all hosts. Each direction
// of each link has a rate, a delay, a queue and faults that act per wire
// segment, while hosts keep their offloads. It knows no host but by its port,
// reads no payload, and draws no conclusions.
package fabric

import (
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/topology"
)

// Config is the whole wiring.
type Config struct {
	Ports    []Port   `json:"ports"`
	Switches []Switch `json:"switches"`
	Links    []Link   `json:"links"`
	CPUs     []int    `json:"cpus"` // the process stays on these
	Seed     uint64   `json:"seed"` // of random losses and the like
	Mode     Mode     `json:"mode,omitempty"`
}

// Port is an interface of the fabric's namespace that leads to a host.
type Port struct {
	Name string `json:"name"` // e.g. client1.eth0
	Dev  string `json:"dev"`  // interface in the fabric's namespace
	// Veth makes the interface, with its peer in the host's namespace.
	Veth *kernel.Veth `json:"veth,omitempty"`
	// Tap makes it for an emulated machine that will open it.
	Tap bool `json:"tap,omitempty"`
}

// Switch forwards by MAC address among the links that end at it.
type Switch struct {
	Name string `json:"name"`
	MTU  int    `json:"mtu"` // larger packets vanish; 0 is any
}

// Link joins two ends, each a port or a switch by name.
type Link struct {
	ID     string            `json:"id"`
	A      string            `json:"a"`
	B      string            `json:"b"`
	Shapes [2]topology.Shape `json:"shapes"` // 0: from A to B
}

// Stats is what the fabric says of itself.
type Stats struct {
	Links map[string][2]DirectionStats `json:"links"`
	// SwitchDrops are segments larger than the MTU of a switch, by its name.
	SwitchDrops map[string]int64 `json:"switch_drops"`
	// RingDrops are frames that came faster than the fabric took them, by
	// port. Any is a warning: the fabric lost what it should not have.
	RingDrops map[string]int64 `json:"ring_drops"`
	CPU       time.Duration    `json:"cpu"` // used by the process since its start
}

// DirectionStats counts what one direction of a link has done since it came
// up, in wire segments unless it says otherwise.
type DirectionStats struct {
	Frames     int64         `json:"frames"` // super-packets count once
	Segments   int64         `json:"segments"`
	WireBytes  int64         `json:"wire_bytes"` // of what went over the wire, overhead included
	Lost       int64         `json:"lost"`
	Duplicated int64         `json:"duplicated"`
	Reordered  int64         `json:"reordered"`
	QueueDrops int64         `json:"queue_drops"`
	MTUDrops   int64         `json:"mtu_drops"`
	Malformed  int64         `json:"malformed"`   // frames not understood
	Overrun    int64         `json:"overrun"`     // frames lost by the fabric itself: a warning
	LatestSend time.Duration `json:"latest_send"` // the most that a frame left after its time
}
