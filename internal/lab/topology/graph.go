package topology

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"linerate/internal/unit"
)

// String is the end as commands name it: client1.eth0, or switch.
func (e End) String() string {
	if e.Interface == "" {
		return e.Node
	}
	return e.Node + "." + e.Interface
}

// String names the link by its ends.
func (l Link) String() string { return l.A.String() + " - " + l.B.String() }

func parseEnd(s string) End {
	node, iface, _ := strings.Cut(s, ".")
	return End{node, iface}
}

// linkID names a link by its nodes. The name of a host's first interface is left out.
func linkID(a, b End) string {
	part := func(e End) string {
		if e.Interface == "" || e.Interface == "eth0" {
			return e.Node
		}
		return e.String()
	}
	return part(a) + "-" + part(b)
}

// String is the topology in one line.
func (t Topology) String() string {
	if len(t.Hosts) != 2 || len(t.Links) != 1 {
		return fmt.Sprintf("%s: %s (%d hosts)", t.Name, t.Title, len(t.Hosts))
	}
	l, mtu := t.Links[0], t.Hosts[0].Interfaces[0].MTU
	rtt := "no delay"
	if d := l.AB.Delay + l.BA.Delay; d > 0 {
		rtt = d.String() + " RTT"
	}
	return fmt.Sprintf("%s ── %s, %s, MTU %d ── %s", l.A.Node, l.AB.Rate, rtt, mtu, l.B.Node)
}

// Clone returns a copy that shares nothing with t that callers change.
func (t Topology) Clone() Topology {
	t.Hosts, t.Switches, t.Links = slices.Clone(t.Hosts), slices.Clone(t.Switches), slices.Clone(t.Links)
	for i, h := range t.Hosts {
		t.Hosts[i].Interfaces, t.Hosts[i].Disks = slices.Clone(h.Interfaces), slices.Clone(h.Disks)
		t.Hosts[i].Servers = slices.Clone(h.Servers)
	}
	return t
}

// noHost says that a host is not there, and which are.
func (t Topology) noHost() error {
	names := make([]string, len(t.Hosts))
	for i, h := range t.Hosts {
		names[i] = h.Name
	}
	return fmt.Errorf("%s has no such host; there are %s", t.Name, strings.Join(names, ", "))
}

// Serve adds servers: for each host the kinds that it shall have besides those of the file.
// They serve the host's first disk, or memory if it has none.
func (t Topology) Serve(kinds map[string][]string) (Topology, error) {
	t = t.Clone()
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		i := slices.IndexFunc(t.Hosts, func(h Host) bool { return h.Name == name })
		if i < 0 {
			return t, fmt.Errorf("serve from %s: %w", name, t.noHost())
		}
		h := &t.Hosts[i]
		disk := ""
		if len(h.Disks) > 0 {
			disk = h.Disks[0].Name
		}
		for _, kind := range kinds[name] {
			if !slices.Contains(serverKinds(), kind) {
				return t, fmt.Errorf("serve from %s: there is no server %q; choose nfs, smb, iscsi or ssh", name, kind)
			}
			if slices.ContainsFunc(h.Servers, func(s Server) bool { return s.Kind == kind }) {
				return t, fmt.Errorf("serve from %s: it has a server %s already", name, kind)
			}
			h.Servers = append(h.Servers, Server{kind, disk})
		}
	}
	return t, nil
}

// WithKinds changes the kinds of hosts that the file states.
func (t Topology) WithKinds(kinds map[string]Kind) (Topology, error) {
	t = t.Clone()
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		i := slices.IndexFunc(t.Hosts, func(h Host) bool { return h.Name == name })
		if i < 0 {
			return t, fmt.Errorf("make %s a %s host: %w", name, kinds[name], t.noHost())
		}
		t.Hosts[i].Kind = kinds[name]
		for _, l := range t.Links {
			if l.Direct && (l.A.Node == name || l.B.Node == name) {
				return t, fmt.Errorf("make %s a %s host: link %s is direct, which joins namespaces only", name, kinds[name], l.ID)
			}
		}
	}
	return t, nil
}

func serverKinds() []string { return []string{"nfs", "smb", "iscsi", "ssh"} }

// Host finds a host by its name.
func (t Topology) Host(name string) (Host, bool) {
	i := slices.IndexFunc(t.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}
	return t.Hosts[i], true
}

// Link finds a link by its id.
func (t Topology) Link(id string) (Link, bool) {
	i := slices.IndexFunc(t.Links, func(l Link) bool { return l.ID == id })
	if i < 0 {
		return Link{}, false
	}
	return t.Links[i], true
}

func (t Topology) nodes() []string {
	var out []string
	for _, h := range t.Hosts {
		out = append(out, h.Name)
	}
	for _, s := range t.Switches {
		out = append(out, s.Name)
	}
	return out
}

// Interface finds a host's interface.
func (t Topology) Interface(host, name string) (Interface, bool) {
	h, _ := t.Host(host)
	i := slices.IndexFunc(h.Interfaces, func(i Interface) bool { return i.Name == name })
	if i < 0 {
		return Interface{}, false
	}
	return h.Interfaces[i], true
}

// MAC is the address of interface number iface of host number host. It is locally administered
// and the same in every lab.
func MAC(host, iface int) net.HardwareAddr {
	return net.HardwareAddr{0x02, 0x4c, 0x52, 0, byte(iface), byte(host + 1)}
}

// Port is an interface of a host.
type Port struct {
	Host      string
	Interface Interface
}

// String is the port as commands name it.
func (p Port) String() string { return p.Host + "." + p.Interface.Name }

// Segments groups the interfaces that reach each other without a router.
func (t Topology) Segments() [][]Port {
	group := map[string]int{}
	find := func(s string) int {
		if _, ok := group[s]; !ok {
			group[s] = len(group)
		}
		return group[s]
	}
	for _, l := range t.Links {
		a, b := find(l.A.String()), find(l.B.String())
		for k, g := range group {
			if g == b {
				group[k] = a
			}
		}
	}
	var order []int
	members := map[int][]Port{}
	for _, h := range t.Hosts {
		for _, i := range h.Interfaces {
			g := find(h.Name + "." + i.Name)
			if members[g] == nil {
				order = append(order, g)
			}
			members[g] = append(members[g], Port{h.Name, i})
		}
	}
	var out [][]Port
	for _, g := range order {
		out = append(out, members[g])
	}
	return out
}

// Hop is one link on a path and the direction in which the path crosses it.
type Hop struct {
	Link Link
	Back bool // from B to A
}

// Shape is the shape of that direction.
func (h Hop) Shape() Shape {
	if h.Back {
		return h.Link.BA
	}
	return h.Link.AB
}

// Path returns the links that packets cross from a host to an interface of another host. It is
// the path with the fewest links; it may lead through hosts that route.
func (t Topology) Path(from, to, via string) ([]Hop, bool) {
	type state struct {
		at   string // a switch, or host.interface
		hops []Hop
	}
	target := to + "." + via
	var queue []state
	seen := map[string]bool{}
	leave := func(host string, hops []Hop) {
		h, _ := t.Host(host)
		for _, i := range h.Interfaces {
			if at := host + "." + i.Name; !seen[at] {
				seen[at] = true
				queue = append(queue, state{at, hops})
			}
		}
	}
	leave(from, nil)
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if s.at == target {
			return s.hops, true
		}
		for _, l := range t.Links {
			for _, hop := range []Hop{{l, false}, {l, true}} {
				a, b := l.A, l.B
				if hop.Back {
					a, b = b, a
				}
				if a.String() != s.at || seen[b.String()] {
					continue
				}
				seen[b.String()] = true
				hops := append(slices.Clone(s.hops), hop)
				queue = append(queue, state{b.String(), hops})
				if h, ok := t.Host(b.Node); ok && h.Forward {
					leave(b.Node, hops)
				}
			}
		}
	}
	return nil, false
}

// Ceiling returns what the path from a host to an interface of another host can carry: the
// rate of its slowest link, its RTT (the sum of the delays in both directions), and the
// smallest MTU of the ends and the links.
func (t Topology) Ceiling(from, to, via string) (rate unit.BitRate, rtt time.Duration, mtu int) {
	hops, ok := t.Path(from, to, via)
	if !ok || len(hops) == 0 {
		return 0, 0, 0
	}
	i, _ := t.Interface(to, via)
	mtu = i.MTU
	if p, ok := t.Interface(from, first(hops).Interface); ok {
		mtu = min(mtu, p.MTU)
	}
	for _, h := range hops {
		s := h.Shape()
		if rate == 0 || s.Rate < rate {
			rate = s.Rate
		}
		rtt += h.Link.AB.Delay + h.Link.BA.Delay
		if s.MTU > 0 {
			mtu = min(mtu, s.MTU)
		}
	}
	return rate, rtt, mtu
}

func first(hops []Hop) End {
	if hops[0].Back {
		return hops[0].Link.B
	}
	return hops[0].Link.A
}

// SourceInterface is the interface through which the path leaves a host.
func (t Topology) SourceInterface(from, to, via string) (Interface, bool) {
	hops, ok := t.Path(from, to, via)
	if !ok || len(hops) == 0 {
		return Interface{}, false
	}
	return t.Interface(from, first(hops).Interface)
}

// scale is by how much the links and disks of a lab are slower than the paper's unless the
// full rate is asked for: a 10 Gbit/s link in software takes a whole core.
const scale = 10

// Scaled returns the topology with the paper's rates, or a tenth of them. Disks are scaled
// too, so that the limiter stays the same. Queues that the file does not state get twice rate
// × RTT of the flow, at least 256 KiB: when the machine stalls, packets arrive in bunches, and
// one loss must not leave a cubic sender, which keeps 0.7 of its window, with less than rate ×
// RTT in flight.
func (t Topology) Scaled(full bool) Topology {
	t.FullRate = full
	factor := unit.BitRate(1)
	if !full {
		factor = scale
	}
	t = t.Clone()
	for _, h := range t.Hosts {
		for j := range h.Disks {
			h.Disks[j].Rate /= factor
		}
	}
	var longest time.Duration
	for _, s := range t.Flow.Senders {
		_, rtt, _ := t.Ceiling(s, t.Flow.Receiver, t.Flow.Via)
		longest = max(longest, rtt)
	}
	for i := range t.Links {
		for _, s := range []*Shape{&t.Links[i].AB, &t.Links[i].BA} {
			s.Rate /= factor
			if s.Queue == 0 && !t.Links[i].Direct {
				s.Queue = max(minQueue, unit.Bytes(2*float64(s.Rate)/8*longest.Seconds()))
			}
		}
	}
	return t
}

const minQueue = 256 * unit.KiB
