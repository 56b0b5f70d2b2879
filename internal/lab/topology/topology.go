// Package topology describes emulated networks: hosts, switches and the links between them. It
// reads them from YAML files and draws them, and has the papers' networks by name. It is pure:
// it builds nothing, opens nothing and knows no faults. It refuses a description that a lab
// could not build, with file, line and reason.
package topology

import (
	"net/netip"
	"time"

	"linerate/internal/unit"
)

// Kind is how a host is emulated.
type Kind string

// Kinds of hosts.
const (
	Namespace Kind = "namespace" // this kernel, in namespaces of its own
	Kernel    Kind = "kernel"    // a kernel of its own (User-Mode Linux)
	Device    Kind = "device"    // a machine of its own with emulated NICs (QEMU)
)

// Topology is one emulated network.
type Topology struct {
	Name  string
	Title string // one line
	Paper string // key of the paper it comes from: ATTO, DELL, NAPPIT, SFC, CIT; empty for a user's own
	About string // a paragraph

	Hosts    []Host
	Switches []Switch
	Links    []Link
	Flow     Flow
	// FullRate: the links have the paper's rates instead of a tenth of them.
	FullRate bool
}

// Flow is the main traffic of the topology: what a demonstration or the judge sends by
// default. Data goes from the senders to the receiver's interface.
type Flow struct {
	Senders  []string // hosts
	Receiver string   // host
	Via      string   // interface of the receiver, e.g. eth0
}

// Host is one emulated host.
type Host struct {
	Name       string
	Kind       Kind
	Interfaces []Interface // in the order of the file: eth0, eth1, …
	Routes     []Route
	Forward    bool // the host routes between its interfaces
	Memory     unit.Bytes
	Disks      []Disk
	Servers    []Server
	Line       int // line in the file
}

// Interface is a port of a host.
type Interface struct {
	Name string
	Addr netip.Prefix
	MTU  int
	Card Card
}

// Card is the network card of an interface of a device host; other hosts have none. Zero
// values stand for an e1000e on node 0 in a port with the card's own capability.
type Card struct {
	Model string // e1000e, vmxnet3, igb
	Node  int    // NUMA node, 0 or 1
	// PortSpeed (GT/s) and PortWidth (lanes) are the capability of the PCIe port above the
	// card. The card is 2.5 GT/s x1: with a larger capability the link has trained below it.
	PortSpeed float64
	PortWidth int
}

// Route sends To through Via. An invalid To is the default route.
type Route struct {
	To  netip.Prefix
	Via netip.Addr
}

// Disk is a disk of a host with the rate that it can deliver. Rate 0: as fast as memory.
type Disk struct {
	Name string
	Size unit.Bytes
	Rate unit.BitRate
}

// Server is a storage server on a host.
type Server struct {
	Kind string // nfs, smb, iscsi, ssh
	Disk string // a disk of this host; empty: a directory in memory
}

// Switch forwards by MAC address. It silently drops frames whose packet is larger than its
// MTU, as real switches do.
type Switch struct {
	Name string
	MTU  int
	Line int
}

// End is one end of a link: an interface of a host, or a switch (no Interface).
type End struct {
	Node      string
	Interface string
}

// Link joins two ends. Each direction has a shape of its own; AB leads from A
// to B.
type Link struct {
	ID   string // e.g. client1-switch; names the link in commands
	A, B End
	AB   Shape
	BA   Shape
	// Direct joins two hosts by one veth pair that the kernel's tbf shapes to the rate,
	// without linerate's own delay and queue. It is for rates at which the cost per packet is
	// studied; no fault can be injected into it.
	Direct bool
	Line   int
}

// Shape is what one direction of a link does to packets. Rate and Queue count
// wire bytes: each segment with its Ethernet header, checksum, preamble and gap.
type Shape struct {
	Rate   unit.BitRate  `json:"rate_bps"`
	Delay  time.Duration `json:"delay_ns"`  // one way, after the queue
	Jitter time.Duration `json:"jitter_ns"` // added to Delay, uniform in ±Jitter; it does not reorder
	Loss   float64       `json:"loss"`      // share of segments lost after they used the wire
	// LossBurst is the mean number of segments lost in a row (Gilbert model); up to 1: losses
	// are independent.
	LossBurst float64 `json:"loss_burst"`
	Duplicate float64 `json:"duplicate"` // share of segments that arrive twice
	// Reorder is the share of segments that leave ReorderBy late, behind later ones.
	Reorder   float64       `json:"reorder"`
	ReorderBy time.Duration `json:"reorder_by_ns"`
	MTU       int           `json:"mtu"`   // the largest IP packet that passes; 0: any size
	Queue     unit.Bytes    `json:"queue"` // limit of waiting wire bytes; tail drop beyond it
}
