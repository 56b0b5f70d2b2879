package model

import (
	"net/netip"
	"time"

	"linerate/internal/unit"
)

// FactsVersion is the version of the Facts format that this build writes.
const FactsVersion = 1

// Facts is everything that was read of one host at one moment. It is written
// to a bundle as facts/<host>.json.
type Facts struct {
	V        int       `json:"v"`
	Host     string    `json:"host"` // the name the user gave
	Hostname string    `json:"hostname"`
	Taken    time.Time `json:"taken"`
	BootID   string    `json:"boot_id"`
	OS       string    `json:"os"`     // GOOS word: linux, windows, …
	Kernel   string    `json:"kernel"` // release, e.g. 6.1.0-18-amd64
	UID      int       `json:"uid"`    // of the reader; 0 is root
	CPUs     []int     `json:"cpus"`   // CPU numbers this host may run on (affinity mask)
	NICs     []NIC     `json:"nics"`
	Routes   []Route   `json:"routes"`
	Mounts   []Mount   `json:"mounts"`
	// Settings by setting id, as read, e.g.
	// "linux.sysctl.net.ipv4.tcp_rmem" → "4096 131072 6291456".
	Settings    map[string]Fact[string] `json:"settings"`
	Uptime      Fact[time.Duration]     `json:"uptime,omitzero"`
	Memory      Fact[unit.Bytes]        `json:"memory,omitzero"`
	CPU         CPUInfo                 `json:"cpu,omitzero"`
	NetCounters Fact[map[string]int64]  `json:"net_counters,omitzero"` // of TCP and IP, as "TcpExt.TCPTimeouts", since the host started
	Storage     []NetMount              `json:"storage,omitempty"`
	Disks       []Disk                  `json:"disks,omitempty"`
	ISCSI       []ISCSISession          `json:"iscsi,omitempty"`
	Arrays      []Array                 `json:"arrays,omitempty"`
	ZFS         Fact[ZFS]               `json:"zfs,omitzero"`
	Conntrack   Fact[Conntrack]         `json:"conntrack,omitzero"`
	Thunderbolt []ThunderboltDevice     `json:"thunderbolt,omitempty"`
	Firewall    Fact[[]FirewallChain]   `json:"firewall,omitzero"`
	NFSD        Fact[NFSD]              `json:"nfsd,omitzero"`
	Services    Fact[[]string]          `json:"services,omitzero"`  // of the processes that rules know, those that run
	Shares      []Share                 `json:"shares,omitempty"`   // of file servers that run as programs: Samba, NFS-Ganesha
	Switches    []SwitchPort            `json:"switches,omitempty"` // filled where it was asked for
	// CouldNotSee lists views that were missing and what each would have shown.
	CouldNotSee []Blind `json:"could_not_see,omitempty"`
}

// Blind is something that could not be observed.
type Blind struct {
	What      string `json:"what"`       // e.g. "sender's tcp_info"
	WouldShow string `json:"would_show"` // what it would have told
	How       string `json:"how"`        // what the user can do to get it
}

// Ability is something that linerate does with a system, and how far that was tried.
type Ability struct {
	Name   string   `json:"ability"`
	Tried  []string `json:"tried"`            // e.g. "built", "never run on a real host"
	Detail string   `json:"detail,omitempty"` // how, in Markdown
}

// NIC is one network interface.
type NIC struct {
	Name   string       `json:"name"`
	Device string       `json:"device"` // stable id: "pci:0000:3b:00.0", "mac:…" (permanent MAC), of Windows "guid:…", or, for an interface that has none, "if:NAME"
	Driver Fact[string] `json:"driver"`
	// Speed is what the port negotiated. Virtual drivers report a constant
	// that shapes nothing (veth 10 Gbit/s, tun 10 Mbit/s): for those the
	// fact is Unsupported.
	Speed  Fact[unit.BitRate] `json:"speed"`
	Duplex Fact[string]       `json:"duplex"`
	MTU    int                `json:"mtu"`
	Up     bool               `json:"up"`
	Addrs  []netip.Prefix     `json:"addrs"`
	Qdisc  string             `json:"qdisc"`
	// Features by the kernel's name (tx-tcp-segmentation,
	// tx-generic-segmentation, rx-gro, …).
	Features Fact[map[string]bool] `json:"features"`
	PCI      Fact[PCISlot]         `json:"pci"`
	NUMA     Fact[int]             `json:"numa"`

	Kind       string           `json:"kind,omitempty"`   // bond, vlan, bridge, veth, …; empty for hardware
	Master     string           `json:"master,omitempty"` // bond or bridge that it is a port of
	Firmware   Fact[string]     `json:"firmware,omitzero"`
	Ring       Fact[Ring]       `json:"ring,omitzero"`
	Channels   Fact[Channels]   `json:"channels,omitzero"`
	Coalesce   Fact[Coalesce]   `json:"coalesce,omitzero"`
	Pause      Fact[Pause]      `json:"pause,omitzero"`
	FEC        Fact[string]     `json:"fec,omitzero"` // RS, BaseR, Off, … in effect
	Modes      Fact[LinkModes]  `json:"modes,omitzero"`
	TxQueueLen Fact[int]        `json:"tx_queue_len,omitzero"`
	RPFilter   Fact[int]        `json:"rp_filter,omitzero"`  // in effect: the larger of all's and its own
	ARPIgnore  Fact[int]        `json:"arp_ignore,omitzero"` // likewise
	Upstream   Fact[[]PCISlot]  `json:"upstream,omitzero"`   // links between the device and the root of the bus
	PCIErrors  Fact[int64]      `json:"pci_errors,omitzero"` // corrected, since the host started
	PCIID      Fact[PCIID]      `json:"pci_id,omitzero"`
	Payload    Fact[PCIPayload] `json:"pci_payload,omitzero"`
	LocalCPUs  Fact[[]int]      `json:"local_cpus,omitzero"`
	IRQs       Fact[[]IRQ]      `json:"irqs,omitzero"`
	Bond       Fact[Bond]       `json:"bond,omitzero"`
	// Counters since the interface was made: those of
	// /sys/class/net/*/statistics that are of use, carrier_changes,
	// qdisc_drops, pause frames and FEC blocks.
	Counters Fact[map[string]int64] `json:"counters,omitzero"`
}

// PCISlot is the link between a NIC and its slot.
type PCISlot struct {
	Address  string  `json:"address"`
	GTs      float64 `json:"gts"` // transfer rate now, GT/s
	Lanes    int     `json:"lanes"`
	MaxGTs   float64 `json:"max_gts"`
	MaxLanes int     `json:"max_lanes"`
	// Tunnel: it leads through Thunderbolt or USB4, and the numbers above are not
	// what it carries.
	Tunnel bool `json:"tunnel,omitempty"`
}

// PCIID says which chip a device is.
type PCIID struct {
	Vendor   uint16 `json:"vendor"`
	Device   uint16 `json:"device"`
	Revision uint8  `json:"revision"`
}

// PCIPayload is how much a PCIe packet of a device holds, in bytes.
type PCIPayload struct {
	Payload     int `json:"payload"`      // in effect (MaxPayload of lspci)
	PayloadMax  int `json:"payload_max"`  // that the device can
	ReadRequest int `json:"read_request"` // most that it asks of memory at once (MaxReadReq)
}

// Route is one IPv4 or IPv6 route of the main table.
type Route struct {
	Dst     netip.Prefix `json:"dst"`
	Gateway netip.Addr   `json:"gateway"` // zero: on link
	Dev     string       `json:"dev"`
	Src     netip.Addr   `json:"src"`
	MTU     int          `json:"mtu"` // 0: not locked by the route
	Metric  int          `json:"metric,omitempty"`
	Window  int          `json:"window,omitempty"` // bytes; 0: not limited by the route
}

// RouteTo is the way to an address: the most specific of the connected networks
// and the routes of the main table, of equal routes that of the lowest metric;
// false: there is none. Src is the zero address where the route names none.
func (f *Facts) RouteTo(to netip.Addr) (Route, bool) {
	best, connected := -1, false
	var route Route
	for _, n := range f.NICs {
		for _, p := range n.Addrs {
			if p.Contains(to) && p.Bits() > best {
				best, connected, route = p.Bits(), true, Route{Dst: p.Masked(), Dev: n.Name, Src: p.Addr()}
			}
		}
	}
	var of *Route // the table's route of the connected network: what it says of the way
	for i, r := range f.Routes {
		switch {
		case !r.Dst.Contains(to) || r.Dst.Bits() < best:
		case r.Dst.Bits() > best, !connected && r.Metric < route.Metric:
			best, connected, route, of = r.Dst.Bits(), false, r, nil
		case connected && r.Dst == route.Dst && r.Dev == route.Dev && (of == nil || r.Metric < of.Metric):
			of = &f.Routes[i]
		}
	}
	if of != nil {
		route.MTU, route.Window = of.MTU, of.Window
	}
	return route, best >= 0
}

// Mount is one mounted file system with the options in effect.
type Mount struct {
	Source  string            `json:"source"`
	Point   string            `json:"point"`
	Type    string            `json:"type"`
	Options map[string]string `json:"options"`
	Dev     string            `json:"dev,omitempty"` // major:minor
}
