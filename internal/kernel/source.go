package kernel

import (
	"context"
	"net/netip"

	"linerate/internal/model"
)

// Files reads the pseudo files of one host. Paths are absolute and slash-separated, names sorted.
// Errors keep fs.ErrNotExist and fs.ErrPermission for errors.Is.
type Files interface {
	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]string, error)
	Readlink(path string) (string, error)
}

// Source is everything that facts and samples are read from: a running host (Live) or a recorded
// one (kerneltest.Host). Netlink answers are those of the calling thread's network namespace.
type Source interface {
	Files
	// OS is the operating system by its GOOS word.
	OS() string
	// TCPConns lists TCP connections with their tcp_info.
	TCPConns(ctx context.Context, f TCPFilter) ([]model.Conn, error)
	// TCPAgain looks up connections that were listed before, at a hundredth of the cost; those
	// that are gone are left out.
	TCPAgain(ctx context.Context, known []model.Conn) ([]model.Conn, error)
	// Links lists the network interfaces with their counters.
	Links(ctx context.Context) ([]Link, error)
	// Addrs lists the addresses of every interface, by link index.
	Addrs(ctx context.Context) (map[int][]netip.Prefix, error)
	// Routes lists the main routing table, IPv4 and IPv6.
	Routes(ctx context.Context) ([]model.Route, error)
	// Qdiscs lists the root queueing disciplines, by link index.
	Qdiscs(ctx context.Context) (map[int]model.QdiscCount, error)
	// Firewall lists the packet filter's chains. A filter that is not loaded is fs.ErrNotExist,
	// and the request does not load it.
	Firewall(ctx context.Context) ([]model.FirewallChain, error)
	// Ask runs an administrator's program of the host that only reads. A missing program is
	// fs.ErrNotExist.
	Ask(ctx context.Context, t Tool) ([]byte, error)
	// Port asks the driver of an interface. What the driver does not report is a fact without a
	// value, never an error.
	Port(ifname string) Port
	// Pauses reads an interface's pause frame counters; nil if the driver has none. It is cheap
	// enough to call every second.
	Pauses(ifname string) *model.PauseCount
}

// QueueSource is a Source that also counts by transmit queue.
type QueueSource interface {
	// TxQueues lists the transmit queues of the interfaces whose root queueing discipline has one
	// for each (mq, mqprio), by link index and in their order.
	TxQueues(ctx context.Context) (map[int][]model.QueueCount, error)
}

// Live is the running host, seen from the calling thread's namespaces. Its Root is where /proc
// and /sys are; the empty one is "/".
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
	// PermMAC is the address burnt into the device; empty if it has none.
	PermMAC string `json:"perm_mac,omitempty"`
	// MAC is the present address, which may be set. No recording has it.
	MAC string `json:"-"`
	// Bus and BusID name the parent device, e.g. "pci" and "0000:3b:00.0".
	Bus   string         `json:"bus,omitempty"`
	BusID string         `json:"bus_id,omitempty"`
	Count model.NICCount `json:"count"`
}

// Port is what a driver reports about its interface through ethtool.
type Port struct {
	Driver model.Fact[string] `json:"driver"`
	// BusInfo is the device's place, e.g. "0000:3b:00.0"; empty for none.
	BusInfo string `json:"bus_info,omitempty"`
	// Mbps is the negotiated speed in Mbit/s, as the driver reports it.
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
	// Counters are pause frames and FEC blocks, by the names of ParseEthPause and ParseEthFEC.
	Counters map[string]int64 `json:"counters,omitempty"`
}

// Pauses are the pause frames among the counters; nil: unsupported.
func (p Port) Pauses() *model.PauseCount {
	rx, haveRx := p.Counters["rx_pause_frames"]
	tx, haveTx := p.Counters["tx_pause_frames"]
	if !haveRx && !haveTx {
		return nil
	}
	return &model.PauseCount{Rx: rx, Tx: tx}
}
