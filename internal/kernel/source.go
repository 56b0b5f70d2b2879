package kernel

import (
	"context"
	"net/netip"

	"linerate/internal/model"
)

// Files reads the pseudo files of one host. Paths are absolute and
// slash-separated, names sorted. Errors keep fs.ErrNotExist and
// fs.ErrPermission for errors.Is.
type Files interface {
	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]string, error)
	Readlink(path string) (string, error)
}

// Source is everything that facts and samples are read from: a running host
// (Live) or a recorded one (kerneltest.Host). Netlink answers are those of
// the calling thread's network namespace.
type Source interface {
	Files
	// OS is the operating system by its GOOS word.
	OS() string
	// TCPConns lists TCP connections with their tcp_info.
	TCPConns(ctx context.Context, f TCPFilter) ([]model.Conn, error)
	// TCPAgain looks up connections that were listed before, which is a
	// hundred times cheaper; those that are gone are left out.
	TCPAgain(ctx context.Context, known []model.Conn) ([]model.Conn, error)
	// Links lists the network interfaces with their counters.
	Links(ctx context.Context) ([]Link, error)
	// Addrs lists the addresses of every interface, by link index.
	Addrs(ctx context.Context) (map[int][]netip.Prefix, error)
	// Routes lists the main routing table, IPv4 and IPv6.
	Routes(ctx context.Context) ([]model.Route, error)
	// Qdiscs lists the root queueing disciplines, by link index.
	Qdiscs(ctx context.Context) (map[int]model.QdiscCount, error)
	// Firewall lists what the packet filter has in the way of packets. A filter
	// that is not loaded is fs.ErrNotExist, and is not loaded by asking.
	Firewall(ctx context.Context) ([]model.FirewallChain, error)
	// Ask puts a question to an administrator's program of the host. One that
	// is not there is fs.ErrNotExist.
	Ask(ctx context.Context, t Tool) ([]byte, error)
	// Port asks an interface's driver about it. What the driver does not
	// tell is a fact without a value, never an error.
	Port(ifname string) Port
	// Pauses reads an interface's pause frames; nil where the driver does not
	// tell. It is cheap enough to ask every second.
	Pauses(ifname string) *model.PauseCount
}

// Live is the running host, seen from the calling thread's namespaces. Its
// Root is where /proc and /sys are; the empty one is "/".
type Live struct{ Root }

// Link is one network interface as rtnetlink shows it.
type Link struct {
	Index int    `json:"index"`
	Name  string `json:"name"`
	Kind  string `json:"kind,omitempty"` // veth, bridge, tun, …; empty for hardware
	MTU   int    `json:"mtu"`
	// Up: carrier and administrative state allow traffic.
	Up       bool `json:"up"`
	Master   int  `json:"master,omitempty"`    // index of the bond or bridge that it is a port of
	QueueLen int  `json:"queue_len,omitempty"` // txqueuelen in packets; 0: not told, or none
	// PermMAC is the address burnt into the device; empty where it has none.
	PermMAC string `json:"perm_mac,omitempty"`
	// Bus and BusID name the parent device, e.g. "pci" and "0000:3b:00.0".
	Bus   string         `json:"bus,omitempty"`
	BusID string         `json:"bus_id,omitempty"`
	Count model.NICCount `json:"count"`
}

// Port is what a driver tells about its interface through ethtool.
type Port struct {
	Driver model.Fact[string] `json:"driver"`
	// BusInfo is where the driver sits, e.g. "0000:3b:00.0"; empty for none.
	BusInfo string `json:"bus_info,omitempty"`
	// Mbps is the negotiated speed as the driver words it, in Mbit/s.
	Mbps     model.Fact[int]             `json:"mbps"`
	Duplex   model.Fact[string]          `json:"duplex"`
	Features model.Fact[map[string]bool] `json:"features"`

	Firmware model.Fact[string]          `json:"firmware,omitzero"`
	Ring     model.Fact[model.Ring]      `json:"ring,omitzero"`
	Channels model.Fact[model.Channels]  `json:"channels,omitzero"`
	Coalesce model.Fact[model.Coalesce]  `json:"coalesce,omitzero"`
	Pause    model.Fact[model.Pause]     `json:"pause,omitzero"`
	FEC      model.Fact[string]          `json:"fec,omitzero"` // in effect
	Modes    model.Fact[model.LinkModes] `json:"modes,omitzero"`
	// Counters are pause frames and FEC blocks, by the names of ParseEthPause
	// and ParseEthFEC.
	Counters map[string]int64 `json:"counters,omitempty"`
}

// Pauses are the pause frames among the counters; nil: not told.
func (p Port) Pauses() *model.PauseCount {
	rx, haveRx := p.Counters["rx_pause_frames"]
	tx, haveTx := p.Counters["tx_pause_frames"]
	if !haveRx && !haveTx {
		return nil
	}
	return &model.PauseCount{Rx: rx, Tx: tx}
}
