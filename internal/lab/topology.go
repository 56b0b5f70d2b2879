package lab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"linerate/internal/unit"
)

// Topology describes two hosts and the link that joins them.
type Topology struct {
	Name  string
	Hosts []string     // two: the first sends, the second receives
	Rate  unit.BitRate // of the link, each direction
	RTT   time.Duration
	MTU   int        // of the hosts' interfaces, and of the path while it is healthy
	Queue unit.Bytes // in front of the link, each direction; 0: two rate × RTT, at least 256 KiB
	// Direct joins the hosts by one veth pair, shaped by the kernel's tbf,
	// without delay: for rates at which the cost per packet is the matter.
	Direct bool
	Mode   LinkMode // how the delay comes about; without meaning for Direct
	Seed   uint64   // of the random losses
}

// DefaultTopology is client1 and server1 joined at 1 Gbit/s with 10 ms RTT.
func DefaultTopology() Topology {
	return Topology{Name: "demo", Hosts: []string{"client1", "server1"}, Rate: unit.Gbit, RTT: 10 * time.Millisecond, MTU: 1500, Seed: 1}
}

// String is the topology in one line.
func (t Topology) String() string {
	rtt := "no delay"
	if t.RTT > 0 {
		rtt = t.RTT.String() + " RTT"
	}
	return fmt.Sprintf("%s ── %s, %s, MTU %d ── %s", t.Hosts[0], t.Rate, rtt, t.MTU, t.Hosts[1])
}

const (
	smallestMTU = 576  // every IPv4 host takes this much (RFC 791)
	largestMTU  = 9216 // jumbo frames of common switches
	minQueue    = 256 * unit.KiB
)

func (t Topology) check() error {
	switch {
	case len(t.Hosts) != 2 || t.Hosts[0] == t.Hosts[1] || t.Hosts[0] == "" || t.Hosts[1] == "":
		return errors.New("a lab has two hosts with different names")
	case t.Rate <= 0:
		return fmt.Errorf("link rate %s: want more than 0", t.Rate)
	case t.RTT < 0 || t.RTT > 2*time.Second:
		return fmt.Errorf("RTT %s: want 0 to 2s", t.RTT)
	case t.Direct && t.RTT != 0:
		return errors.New("a direct link has no delay")
	case t.MTU < smallestMTU || t.MTU > largestMTU:
		return fmt.Errorf("MTU %d: want %d to %d", t.MTU, smallestMTU, largestMTU)
	}
	return nil
}

// shape is one direction of the healthy link. Its queue takes a sender's whole
// window at once twice over: a pause of the machine's bunches packets, and one
// loss from that must not leave the window below what the path holds (a cubic
// sender keeps 0.7 of it).
func (t Topology) shape() Shape {
	queue := t.Queue
	if queue == 0 {
		queue = max(minQueue, unit.Bytes(2*float64(t.Rate)/8*t.RTT.Seconds()))
	}
	return Shape{Rate: t.Rate, Delay: t.RTT / 2, MTU: t.MTU, Queue: queue}
}

// Addresses of the hosts' only interface. They exist inside the lab's own
// namespaces, so they clash with nothing outside.
const hostInterface = "eth0"

func hostAddr(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, 0, byte(i + 1)}), 24)
}

func hostMAC(i int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0x4c, 0x52, 0, 0, byte(i + 1)} // locally administered
}

// hostSysctls makes hosts alike on any machine: the kernel's own defaults for
// the TCP buffers, which a child namespace would inherit from the machine as
// it was tuned, and no memory of one run in the next.
func hostSysctls() map[string]string {
	return map[string]string{
		"net.ipv4.tcp_no_metrics_save": "1",
		"net.ipv4.tcp_rmem":            defaultRmem,
		"net.ipv4.tcp_wmem":            defaultWmem,
	}
}

// Buffer sizes as net/ipv4/tcp.c sets them on a machine with memory enough.
const (
	defaultRmem = "4096 131072 6291456"
	defaultWmem = "4096 16384 4194304"
)
