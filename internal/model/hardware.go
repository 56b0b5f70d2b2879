package model

import (
	"net/netip"
	"strings"
	"time"

	"linerate/internal/unit"
)

// Physical tells whether an interface is a device of its own, not one that
// software made of others.
func (n NIC) Physical() bool {
	return n.Kind == "" && n.Name != "lo" && n.Device != "" && !strings.HasPrefix(n.Device, "if:")
}

// Ring is how many frames fit into a NIC's queues, and how many could.
type Ring struct {
	Rx    int `json:"rx"`
	RxMax int `json:"rx_max"`
	Tx    int `json:"tx"`
	TxMax int `json:"tx_max"`
}

// Channels is how many queues a NIC has, and could have.
type Channels struct {
	Combined    int `json:"combined"`
	CombinedMax int `json:"combined_max"`
	Rx          int `json:"rx"`
	RxMax       int `json:"rx_max"`
	Tx          int `json:"tx"`
	TxMax       int `json:"tx_max"`
}

// Receive is how many queues receive.
func (c Channels) Receive() int { return c.Combined + c.Rx }

// ReceiveMax is how many could.
func (c Channels) ReceiveMax() int { return max(c.CombinedMax+c.RxMax, c.Receive()) }

// Coalesce is how long a NIC waits before it interrupts.
type Coalesce struct {
	RxUsecs    int  `json:"rx_usecs"` // µs
	RxFrames   int  `json:"rx_frames"`
	TxUsecs    int  `json:"tx_usecs"`
	TxFrames   int  `json:"tx_frames"`
	AdaptiveRx bool `json:"adaptive_rx"`
	AdaptiveTx bool `json:"adaptive_tx"`
}

// Pause is Ethernet flow control.
type Pause struct {
	Autoneg bool `json:"autoneg"`
	Rx      bool `json:"rx"`
	Tx      bool `json:"tx"`
}

// LinkModes are the highest speeds that each side of a link could run at.
type LinkModes struct {
	Autoneg    bool         `json:"autoneg"`
	Supported  unit.BitRate `json:"supported_bps"`
	Advertised unit.BitRate `json:"advertised_bps"` // 0: nothing is advertised
	Peer       unit.BitRate `json:"peer_bps"`       // 0: not known
}

// IRQ is one interrupt of a NIC.
type IRQ struct {
	Number  int   `json:"number"`
	CPUs    []int `json:"cpus"`              // where it is delivered
	Allowed []int `json:"allowed,omitempty"` // where it may be delivered; empty: not known
	Count   int64 `json:"count"`             // since it was set up
}

// Bond is an aggregate of ports, as /proc/net/bonding tells.
type Bond struct {
	Mode       string     `json:"mode"` // "IEEE 802.3ad Dynamic link aggregation", …
	Hash       string     `json:"hash"` // "layer2", "layer3+4", …; empty where the mode has none
	MIIms      int        `json:"mii_ms"`
	ARPms      int        `json:"arp_ms"`
	Partner    string     `json:"partner"` // MAC of the switch's LACP system; empty: no LACP
	Aggregator string     `json:"aggregator"`
	Ports      []BondPort `json:"ports"`
}

// BondPort is one port of a bond.
type BondPort struct {
	Name       string       `json:"name"`
	Up         bool         `json:"up"`
	Speed      unit.BitRate `json:"speed_bps"`
	Duplex     string       `json:"duplex"`
	Failures   int          `json:"failures"` // of its link, since it joined
	Aggregator string       `json:"aggregator"`
}

// CPUInfo is how fast the CPUs run and wake.
type CPUInfo struct {
	Driver      Fact[string]        `json:"driver,omitzero"`      // of frequency scaling
	Governors   Fact[[]string]      `json:"governors,omitzero"`   // all that are in use
	Preference  Fact[string]        `json:"preference,omitzero"`  // energy_performance_preference of the first CPU
	MaxKHz      Fact[int64]         `json:"max_khz,omitzero"`     // that the first CPU could run at
	CapKHz      Fact[int64]         `json:"cap_khz,omitzero"`     // lowest limit that is set on a CPU
	NoTurbo     Fact[bool]          `json:"no_turbo,omitzero"`    // intel_pstate/no_turbo
	IdleExit    Fact[time.Duration] `json:"idle_exit,omitzero"`   // wake-up time of the deepest idle state in use
	Clocksource Fact[string]        `json:"clocksource,omitzero"` // tsc, kvm-clock, hpet, …
	Nodes       Fact[[]Node]        `json:"nodes,omitzero"`       // NUMA
	Softnet     Fact[[]Softnet]     `json:"softnet,omitzero"`     // counters since the host started
	Times       Fact[[]CPUTime]     `json:"times,omitzero"`       // since the host started; of the whole machine, also inside a container
}

// Node is one NUMA node.
type Node struct {
	ID   int   `json:"id"`
	CPUs []int `json:"cpus"`
}

// NetMount is a mounted network file system with the connections that serve it.
type NetMount struct {
	Point   string           `json:"point"`
	Type    string           `json:"type"`
	Server  netip.Addr       `json:"server"`
	Port    uint16           `json:"port"`
	Proto   string           `json:"proto"`
	More    []netip.Addr     `json:"more,omitempty"` // further addresses of the server with connections of this mount
	Dev     string           `json:"dev"`            // interface of the route to the server; empty: not known
	Conns   Fact[int]        `json:"conns"`          // TCP connections to the server's port now; mounts of one server share them
	Sources int              `json:"sources"`
	MinRTT  Fact[Nanos]      `json:"min_rtt"`
	Ahead   Fact[unit.Bytes] `json:"read_ahead"`
	// Asked is how many connections /etc/fstab asks for (nconnect,
	// max_channels); the kernel shows only how many it opened.
	Asked Fact[int] `json:"asked,omitzero"`
}

// Nanos is a duration; the name says the unit that JSON has it in.
type Nanos = time.Duration

// Disk is a block device.
type Disk struct {
	Name string `json:"name"`
	// Device names it in a way that survives another order of discovery, as
	// kernel.BlockIDs has it; empty where nothing but the name is known.
	Device     string           `json:"device,omitempty"`
	Rotational Fact[bool]       `json:"rotational"`
	Scheduler  Fact[string]     `json:"scheduler"`
	Ahead      Fact[unit.Bytes] `json:"read_ahead"`
	Requests   Fact[int]        `json:"requests"` // nr_requests
	MaxRequest Fact[unit.Bytes] `json:"max_request"`
	HWRequest  Fact[unit.Bytes] `json:"hw_request"`           // largest that the hardware takes
	Depth      Fact[int]        `json:"queue_depth,omitzero"` // of a SCSI device
	Session    string           `json:"session,omitempty"`    // of the iSCSI session that it came by
	Holders    []string         `json:"holders,omitempty"`    // devices built on it
}

// ISCSISession is one session of the iSCSI initiator. Lengths are in bytes.
type ISCSISession struct {
	Name       string      `json:"name"` // session1
	Target     string      `json:"target"`
	State      string      `json:"state"` // LOGGED_IN, FAILED, FREE
	InitialR2T Fact[bool]  `json:"initial_r2t"`
	Immediate  Fact[bool]  `json:"immediate_data"`
	FirstBurst Fact[int64] `json:"first_burst"`
	MaxBurst   Fact[int64] `json:"max_burst"`
	Conns      []ISCSIConn `json:"conns"`
}

// ISCSIConn is one connection of a session.
type ISCSIConn struct {
	Portal       netip.AddrPort `json:"portal"`
	Local        netip.Addr     `json:"local"` // zero: not seen
	HeaderDigest Fact[bool]     `json:"header_digest"`
	DataDigest   Fact[bool]     `json:"data_digest"`
	MaxSend      Fact[int64]    `json:"max_send"` // largest data segment
	MaxRecv      Fact[int64]    `json:"max_recv"`
	MinRTT       Fact[Nanos]    `json:"min_rtt"`
}

// Array is an md RAID.
type Array struct {
	Name     string    `json:"name"`
	Level    string    `json:"level"`
	Degraded Fact[int] `json:"degraded"` // disks missing
	Action   string    `json:"action"`   // idle, resync, recover, check, …
	Stripes  Fact[int] `json:"stripe_cache,omitzero"`
}

// ZFS is what the module shows without its tools.
type ZFS struct {
	Version string            `json:"version"`
	ARC     map[string]int64  `json:"arc"`    // selected arcstats
	Params  map[string]string `json:"params"` // module parameters
	Pools   map[string]string `json:"pools"`  // state by name
	// What only the tools show; empty where they are missing.
	Datasets []ZFSDataset       `json:"datasets,omitempty"`
	Store    map[string]ZFSPool `json:"store,omitempty"` // by pool
}

// ZFSDataset is a file system or volume with the properties that bear on
// throughput, in effect (inherited or its own). Empty: not known.
type ZFSDataset struct {
	Name        string     `json:"name"`
	Volume      bool       `json:"volume"`
	Sync        string     `json:"sync"`   // standard, always, disabled
	Record      unit.Bytes `json:"record"` // recordsize, or volblocksize of a volume
	Dedup       string     `json:"dedup"`
	Compression string     `json:"compression"`
	LogBias     string     `json:"logbias"`
	Cache       string     `json:"primarycache"`
	Shared      bool       `json:"shared"` // by its own property, over NFS or SMB
}

// ZFSPool is what zpool prints of a pool.
type ZFSPool struct {
	Capacity  Fact[int]     `json:"capacity"`      // percent used
	Fragments Fact[int]     `json:"fragmentation"` // percent
	Ashift    Fact[int]     `json:"ashift"`        // 0: each device its own
	Dedup     Fact[float64] `json:"dedup_ratio"`
	Log       bool          `json:"log"`   // it has a device for the intent log
	Cache     bool          `json:"cache"` // it has a device for the second-level cache
}

// Conntrack is the table of followed connections.
type Conntrack struct {
	Count int64 `json:"count"`
	Max   int64 `json:"max"`
	Drops int64 `json:"drops"`
}

// NFSD is the kernel's NFS server.
type NFSD struct {
	Threads int   `json:"threads"`
	UDP     int64 `json:"udp"` // packets since it started
	TCP     int64 `json:"tcp"`
	// Root is the directory that clients of NFSv4 see as / (fsid=0; RFC 7530 section 7);
	// empty: none is exported as such, or it could not be read.
	Root string `json:"root,omitempty"`
}

// Share is a directory that a file server which is a program serves, as its configuration
// file has it.
type Share struct {
	Protocol string `json:"protocol"` // nfs or smb
	Name     string `json:"name"`     // as clients name it: /share, also of //HOST/share
	Path     string `json:"path"`     // on this host
}

// FirewallChain is what packets of this host pass at one hook of the packet
// filter: a base chain of nf_tables, or a whole table of the older iptables.
type FirewallChain struct {
	By     string `json:"by"`     // nf_tables or ip_tables
	Family string `json:"family"` // inet, ip, ip6, netdev, bridge, arp
	Table  string `json:"table"`
	Chain  string `json:"chain,omitempty"` // empty: Rules is of the whole table
	Hook   string `json:"hook,omitempty"`  // ingress, prerouting, input, forward, output, postrouting
	Device string `json:"device,omitempty"`
	Policy string `json:"policy,omitempty"` // accept or drop
	Rules  int    `json:"rules"`            // without those of chains that it jumps to
	// Before is how many rules stand before the one that accepts what belongs to
	// a known connection; nil: there is no such rule, and each packet passes
	// rules until one matches.
	Before *int `json:"before,omitempty"`
	// Cut: there are more rules than were read, in this chain or in others.
	Cut bool `json:"cut,omitempty"`
	// Queues: a rule hands packets to a program (queue, NFQUEUE).
	Queues bool `json:"queues,omitempty"`
}

// ThunderboltDevice is what is plugged into a Thunderbolt or USB4 port.
type ThunderboltDevice struct {
	Name    string       `json:"name"` // by domain and route, e.g. 0-1
	Product string       `json:"product,omitempty"`
	Rate    unit.BitRate `json:"rate_bps"` // of all its lanes, one direction
}
