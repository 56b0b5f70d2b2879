package fault

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// Sysctls of the buffers, and the kernel's default of the first two of their three numbers
// (net/ipv4/tcp.c).
const (
	rmemKey   = "net.ipv4.tcp_rmem"
	wmemKey   = "net.ipv4.tcp_wmem"
	rmemFirst = 131072
	wmemFirst = 16384
)

// hostFaults are the faults of a host's settings, interfaces and CPU.
func hostFaults() []Fault {
	return []Fault{
		{ID: "rcv-window-sysctl", Doc: "the receiver's tcp_rmem is too small for the delay", AppliesTo: AtReceiver, Limiter: model.ReceiverWindow,
			Severities: three(2<<20, 1<<20, 256<<10, bytesText), Counterfactual: "a receive buffer of at least twice rate × RTT",
			Confusable: limiters(model.ApplicationSink), Road: LongRoad,
			effects: bufferSysctl(rmemKey, rmemFirst)},
		{ID: "rcv-autotuning-off", Doc: "the receiver's buffers keep their initial size (tcp_moderate_rcvbuf)", AppliesTo: AtReceiver, Limiter: model.ReceiverWindow,
			Severities: three(1<<20, 256<<10, 128<<10, bytesText), Counterfactual: "receive buffer autotuning",
			Confusable: limiters(model.ApplicationSink), Road: LongRoad, effects: noAutotuning},
		{ID: "window-scaling-off", Doc: "the receiver offers no window scaling", AppliesTo: AtReceiver, Limiter: model.ReceiverWindow,
			Severities: only("tcp_window_scaling 0"), Counterfactual: "windows above 64 KiB",
			Confusable: limiters(model.ApplicationSink), Road: LongRoad,
			effects: hostSysctl("net.ipv4.tcp_window_scaling", "0")},
		{ID: "send-buffer", Doc: "the sender's tcp_wmem is too small for the delay", AppliesTo: AtSender, Limiter: model.SendBuffer,
			Severities: three(1<<20, 512<<10, 256<<10, bytesText), Counterfactual: "a send buffer of at least rate × RTT",
			Confusable: limiters(model.ApplicationSource), Road: LongRoad,
			effects: bufferSysctl(wmemKey, wmemFirst)},
		{ID: "sack-off", Doc: "the receiver offers no selective acknowledgments on a path with loss", AppliesTo: AtReceiver, Limiter: model.SACKOff,
			Severities: only("tcp_sack 0"), Counterfactual: "recovery from several losses per round trip",
			Confusable: limiters(model.PathLoss), Road: LongRoad, Beside: "loss-bursty mild",
			effects: hostSysctl("net.ipv4.tcp_sack", "0")},
		{ID: "host-mtu", Doc: "one end sends small packets on a jumbo path", AppliesTo: AtReceiver, Limiter: model.PacketCost, FixKind: model.FixOperator,
			Severities: three(4000, 1500, 576, mtuBytesText), Counterfactual: "the path's MTU at both ends",
			Confusable: limiters(model.LinkRate), Road: JumboRoad, effects: smallMTU},
		{ID: "offloads-off", Doc: "segmentation and receive offload are off, so that each packet costs CPU", AppliesTo: AtSender, Limiter: model.PacketCost,
			Severities: three(1, 2, 3, offloadText), Counterfactual: "packets that cross the stack in large segments",
			Confusable: limiters(model.SenderCPU, model.ReceiverCPU, model.LinkRate), Road: FastRoad, effects: offloads},
		{ID: "receiver-cpu", Doc: "other work takes the CPU from the receiving application", AppliesTo: AtReceiver, Limiter: model.ReceiverCPU,
			Severities: three(10, 5, 0, squeezeText), Counterfactual: "a CPU for the reader",
			Confusable: limiters(model.ApplicationSink, model.LinkRate), Road: LongRoad, effects: squeeze},
		{ID: "sender-cpu", Doc: "other work takes the CPU from the sending application", AppliesTo: AtSender, Limiter: model.SenderCPU,
			Severities: three(10, 5, 0, squeezeText), Counterfactual: "a CPU for the writer",
			Confusable: limiters(model.ApplicationSource, model.PacketCost), Road: LongRoad, effects: squeeze},
		{ID: "local-shaper", Doc: "a qdisc on the sender itself holds packets back", AppliesTo: AtSender, Limiter: model.LocalQdisc,
			Severities: three(0.8, 0.5, 0.2, shareText), Counterfactual: "no shaper on the sender",
			Confusable: limiters(model.LinkRate), Road: LongRoad, Needs: "the tc command of iproute2", effects: localShaper},
		{ID: "notsent-lowat", Doc: "the sender keeps little unsent data (tcp_notsent_lowat): it looks starved and is not", AppliesTo: AtSender, Limiter: model.None,
			Severities: three(1<<20, 128<<10, 16<<10, bytesText), Counterfactual: "nothing: the setting limits nothing",
			Confusable: limiters(model.ApplicationSource), Road: LongRoad,
			effects: func(v float64, s *site) ([]effect, error) {
				return []effect{sysctl(s.end.Node, "net.ipv4.tcp_notsent_lowat", strconv.Itoa(int(v)))}, nil
			}},
		{ID: "wrong-route", Doc: "traffic for the fast port leaves by the slow one", AppliesTo: AtSender, Limiter: model.LinkRate,
			Severities: only("a route over the other port"), Counterfactual: "a route over the fast port",
			Confusable: limiters(model.PathQueue), Road: JumboRoad, Needs: "a sender with a second port that reaches the receiver, e.g. dual-homed", effects: wrongRoute},
		{ID: "asymmetric-route", Doc: "answers leave by another port and the receiver's reverse path filter drops the incoming packets", AppliesTo: AtReceiver, Limiter: model.Outage,
			Severities: only("rp_filter 1 and a route back over the other port"), Counterfactual: "a route back over the port that the data came by",
			Confusable: limiters(model.MTUBlackhole), Road: LongRoad, Needs: "a receiver with a second port that reaches the sender, e.g. dual-homed", effects: asymmetricRoute},
		{ID: "arp-flux", Doc: "a host answers for all its addresses on every port, so that traffic comes in by the wrong one", AppliesTo: AtReceiver, Limiter: model.LinkRate,
			Severities: only("arp_ignore 0, arp_announce 0"), Counterfactual: "each port answers for its own address",
			Confusable: limiters(model.PathQueue), Road: LongRoad, Needs: "a receiver with two ports on one switch", effects: arpFlux},
		{ID: "one-core-for-queues", Doc: "all interrupts of the card go to one core", AppliesTo: AtReceiver, Limiter: model.ReceiverCPU,
			Severities: only("smp_affinity_list 0 for each vector"), Counterfactual: "a core for each queue",
			Confusable: limiters(model.PacketCost), Road: LongRoad, HostKinds: []topology.Kind{topology.Device}, Needs: "a device host", effects: oneCore},
	}
}

// hostSysctl sets one key of the host acted on.
func hostSysctl(key, value string) func(float64, *site) ([]effect, error) {
	return func(_ float64, s *site) ([]effect, error) {
		return []effect{sysctl(s.end.Node, key, value)}, nil
	}
}

// bufferSysctl sets a buffer sysctl, which has three numbers, with v bytes as its maximum.
func bufferSysctl(key string, first int) func(float64, *site) ([]effect, error) {
	return func(v float64, s *site) ([]effect, error) {
		return []effect{sysctl(s.end.Node, key, threeNumbers(first, int(v)))}, nil
	}
}

// threeNumbers is the value of tcp_rmem or tcp_wmem with this maximum; the other two numbers
// do not exceed it.
func threeNumbers(first, maximum int) string {
	return fmt.Sprintf("%d %d %d", min(4096, maximum), min(first, maximum), maximum)
}

func noAutotuning(v float64, s *site) ([]effect, error) {
	return []effect{
		sysctl(s.end.Node, rmemKey, fmt.Sprintf("4096 %d 6291456", int(v))),
		sysctl(s.end.Node, "net.ipv4.tcp_moderate_rcvbuf", "0"),
	}, nil
}

func smallMTU(v float64, s *site) ([]effect, error) {
	if n := findInterface(s.topo, s.end); n != nil && n.MTU <= int(v) {
		return nil, fmt.Errorf("the MTU of %s on %s is %d already: ask for less than that", s.end.Interface, s.end.Node, n.MTU)
	}
	return []effect{hostMTU(s.end, int(v))}, nil
}

// Features by the kernel's names (net/ethtool/common.c).
const (
	txSegmentation  = "tx-tcp-segmentation"
	txGenericSegmnt = "tx-generic-segmentation"
	rxMerge         = "rx-gro"
)

// offloads switches offloads off: 1 those of the receiver, 2 those of the sender, 3 both.
func offloads(v float64, s *site) ([]effect, error) {
	other := s.receiver
	if s.end == s.receiver {
		other = s.sender
	}
	var out []effect
	if v != 1 {
		out = append(out, features(s.end, false, txSegmentation, txGenericSegmnt))
	}
	if v != 2 {
		out = append(out, features(other, false, rxMerge))
	}
	return out, nil
}

// squeeze starts CPU-bound tasks with nice value v, which leave little of the CPU to the
// processes that have a connection of the host's data address.
func squeeze(v float64, s *site) ([]effect, error) {
	n := findInterface(s.topo, s.end)
	if n == nil || !n.Addr.IsValid() {
		return nil, fmt.Errorf("%s of %s has no address to know its traffic by", s.end.Interface, s.end.Node)
	}
	return []effect{running(s.end.Node, "squeeze", Self, SqueezeRole, "--addr", n.Addr.Addr().String(), "--nice", strconv.Itoa(int(v)))}, nil
}

func localShaper(v float64, s *site) ([]effect, error) {
	rate := s.rate()
	if rate == 0 {
		return nil, fmt.Errorf("no link of the flow has a rate that a share could be taken of")
	}
	// The bucket holds what arrives in 2 ms at this rate, as tc's manual asks.
	bits := float64(rate) * v
	return []effect{command(s.end.Node,
		[]string{"tc", "qdisc", "replace", "dev", s.end.Interface, "root", "tbf", "rate", fmt.Sprintf("%.0fbit", bits),
			"burst", fmt.Sprintf("%.0f", max(bits/8*0.002, 64<<10)), "limit", fmt.Sprintf("%.0f", max(bits/8*0.02, 256<<10))},
		[]string{"tc", "qdisc", "del", "dev", s.end.Interface, "root"})}, nil
}

// otherRoad finds a path from an interface of e's host other than e to an interface of peer's
// host other than peer.
func (s *site) otherRoad(e, peer topology.End) []hop {
	for _, h := range hopsFrom(s.topo, e.Node) {
		from, next := h.ends()
		if from.Interface == e.Interface || !passes(s.topo, next.Node) && next.Node != peer.Node {
			continue
		}
		road := []hop{h}
		if next.Node != peer.Node {
			rest := findRoad(s.topo, next.Node, topology.End{Node: peer.Node})
			if len(rest) == 0 {
				continue
			}
			road = append(road, rest...)
		}
		if _, far := road[len(road)-1].ends(); far != peer {
			return road
		}
	}
	return nil
}

// routeOver routes packets for the peer's address over the other road: each forwarding host on
// it gets a route to the next.
func (s *site) routeOver(e, peer topology.End) ([]effect, error) {
	road, dst := s.otherRoad(e, peer), findInterface(s.topo, peer)
	if len(road) == 0 || dst == nil {
		return nil, fmt.Errorf("%s and %s have no second port each that would reach the other: bring up a topology that has, e.g. dual-homed", e.Node, peer.Node)
	}
	var out []effect
	for i, h := range road {
		from, _ := h.ends()
		next := nextHost(road[i:])
		via := findInterface(s.topo, next)
		if from.Interface == "" || via == nil {
			continue // a switch forwards without a route
		}
		route := []string{dst.Addr.Addr().String() + "/32", "via", via.Addr.Addr().String(), "dev", from.Interface}
		out = append(out, command(from.Node, append([]string{"ip", "route", "add"}, route...), append([]string{"ip", "route", "del"}, route...)))
	}
	return out, nil
}

// nextHost is the first interface of a host on the road.
func nextHost(road []hop) topology.End {
	for _, h := range road {
		if _, to := h.ends(); to.Interface != "" {
			return to
		}
	}
	return topology.End{}
}

func wrongRoute(_ float64, s *site) ([]effect, error) { return s.routeOver(s.end, s.receiver) }

func asymmetricRoute(_ float64, s *site) ([]effect, error) {
	back, err := s.routeOver(s.end, s.sender)
	return append([]effect{
		sysctl(s.end.Node, "net.ipv4.conf.all.rp_filter", "1"),
		sysctl(s.end.Node, "net.ipv4.conf."+s.end.Interface+".rp_filter", "1"),
	}, back...), err
}

func arpFlux(_ float64, s *site) ([]effect, error) {
	wire := map[string]int{}
	for _, h := range hopsFrom(s.topo, s.end.Node) {
		if _, far := h.ends(); far.Interface == "" {
			wire[far.Node]++
		}
	}
	for _, n := range wire {
		if n > 1 {
			// Both hosts flush the neighbours that they learned under the other rule. The
			// flush is the first step as well as the last, since undo runs in reverse order.
			forget := command(s.sender.Node, []string{"ip", "neigh", "flush", "all"}, []string{"ip", "neigh", "flush", "all"})
			return []effect{
				forget,
				sysctl(s.end.Node, "net.ipv4.conf.all.arp_ignore", "0"),
				sysctl(s.end.Node, "net.ipv4.conf.all.arp_announce", "0"),
				forget,
			}, nil
		}
	}
	return nil, fmt.Errorf("%s has no two ports on one switch: describe such a topology in a file and bring that up", s.end.Node)
}

// oneCore sets the affinity of each interrupt vector of the interface's card to core 0
// (Documentation/core-api/irq/irq-affinity.rst).
func oneCore(_ float64, s *site) ([]effect, error) {
	host, nic := s.end.Node, s.end.Interface
	if h, _ := s.topo.Host(host); h.Kind != topology.Device {
		return nil, fmt.Errorf("%s has no card with interrupts of its own: bring the lab up with --device %s", host, host)
	}
	return []effect{func(ctx context.Context, l Lab) (Undo, error) {
		out, err := l.Run(ctx, host, "ls", "/sys/class/net/"+nic+"/device/msi_irqs")
		if err != nil {
			return nil, fmt.Errorf("list interrupts of %s on %s: %w", nic, host, err)
		}
		var vectors []effect
		for irq := range strings.FieldsSeq(string(out)) {
			vectors = append(vectors, hostFile(host, "/proc/irq/"+irq+"/smp_affinity_list", "0"))
		}
		if len(vectors) == 0 {
			return nil, fmt.Errorf("%s on %s has no vectors of its own", nic, host)
		}
		return InTurn(ctx, l, vectors)
	}}, nil
}
