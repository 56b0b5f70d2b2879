package topology

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"linerate/internal/unit"
)

// Bounds of a lab.
const (
	maxHosts    = 64
	maxSwitches = 16
	minMTU      = 576  // every IPv4 host accepts this size (RFC 791)
	maxMTU      = 9216 // jumbo frames of common switches
	maxRate     = 400 * unit.Gbit
	minMemory   = 32 * unit.MiB
)

// A host's name is a label of a domain name (RFC 1123, 2.1); an interface's is
// what Linux takes.
var (
	labelPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)
	ifacePattern = regexp.MustCompile(`^[a-z][a-z0-9]{0,13}$`)
)

// validate reports everything that a lab could not build.
func (r *reader) validate(t *Topology) {
	if !labelPattern.MatchString(t.Name) {
		r.Problem(1, "name %q: want lower-case letters, digits and hyphens", t.Name)
	}
	if len(t.Hosts) < 2 || len(t.Hosts) > maxHosts {
		r.Problem(1, "%d hosts: a lab has 2 to %d", len(t.Hosts), maxHosts)
	}
	if len(t.Switches) > maxSwitches {
		r.Problem(1, "%d switches: a lab has at most %d", len(t.Switches), maxSwitches)
	}
	r.names(t)
	for _, h := range t.Hosts {
		r.checkHost(h)
	}
	for _, s := range t.Switches {
		r.checkMTU(s.Line, "switch "+s.Name, s.MTU)
	}
	for _, l := range t.Links {
		r.checkLink(t, l)
	}
	r.checkPorts(t)
	if r.Failed() {
		return // the checks below assume valid names and ends
	}
	r.checkLoops(t)
	r.checkAddresses(t)
	r.checkFlow(t)
}

func (r *reader) names(t *Topology) {
	seen := map[string]bool{}
	note := func(line int, kind, name string) {
		if !labelPattern.MatchString(name) {
			r.Problem(line, "%s %q: a name has lower-case letters, digits and hyphens, at most 32", kind, name)
		}
		if seen[name] {
			r.Problem(line, "%s %s: there is another host or switch of that name", kind, name)
		}
		seen[name] = true
	}
	for _, h := range t.Hosts {
		note(h.Line, "host", h.Name)
	}
	for _, s := range t.Switches {
		note(s.Line, "switch", s.Name)
	}
}

func (r *reader) checkHost(h Host) {
	if len(h.Interfaces) == 0 {
		r.Problem(h.Line, "host %s has no interfaces", h.Name)
	}
	if h.Memory != 0 && h.Memory < minMemory {
		r.Problem(h.Line, "host %s: memory %s: want at least %s", h.Name, h.Memory, minMemory)
	}
	for _, i := range h.Interfaces {
		at := h.Name + "." + i.Name
		if !ifacePattern.MatchString(i.Name) || i.Name == "lo" {
			r.Problem(h.Line, "interface %q of host %s: want a name such as eth0", i.Name, h.Name)
		}
		if !i.Addr.IsValid() || !i.Addr.Addr().Is4() || !i.Addr.Addr().IsPrivate() || i.Addr.Bits() > 30 || i.Addr.Masked().Addr() == i.Addr.Addr() {
			r.Problem(h.Line, "interface %s: address %s: want a private IPv4 address of a host with its prefix length, such as 10.0.0.1/24", at, i.Addr)
		}
		r.checkMTU(h.Line, "interface "+at, i.MTU)
	}
	for _, route := range h.Routes {
		if !slices.ContainsFunc(h.Interfaces, func(i Interface) bool { return i.Addr.Contains(route.Via) }) {
			r.Problem(h.Line, "host %s: route via %s: no interface of the host is on that network", h.Name, route.Via)
		}
	}
	for _, d := range h.Disks {
		if d.Name == "memory" || !labelPattern.MatchString(d.Name) {
			r.Problem(h.Line, "host %s: disk %q: want a word, other than memory, which is the disk of hosts without one", h.Name, d.Name)
		}
		if d.Size < unit.MiB || d.Rate < 0 {
			r.Problem(h.Line, "host %s: disk %s: want a size of at least 1 MiB", h.Name, d.Name)
		}
	}
}

func (r *reader) checkMTU(line int, what string, mtu int) {
	if mtu < minMTU || mtu > maxMTU {
		r.Problem(line, "%s: MTU %d: want %d to %d", what, mtu, minMTU, maxMTU)
	}
}

func (r *reader) checkLink(t *Topology, l Link) {
	for _, e := range []End{l.A, l.B} {
		r.checkEnd(t, l, e)
	}
	if l.Direct && (l.A.Interface == "" || l.B.Interface == "" || l.AB != (Shape{Rate: l.AB.Rate}) || l.AB != l.BA) {
		r.Problem(l.Line, "link %s: a direct link joins two hosts and has a rate, nothing else", l)
	}
	if l.A == l.B {
		r.Problem(l.Line, "link %s joins a thing with itself", l)
	}
	for _, s := range []Shape{l.AB, l.BA} {
		r.checkShape(l, s)
	}
}

func (r *reader) checkEnd(t *Topology, l Link, e End) {
	isSwitch := slices.ContainsFunc(t.Switches, func(s Switch) bool { return s.Name == e.Node })
	h, ok := t.Host(e.Node)
	switch {
	case isSwitch && e.Interface == "":
	case isSwitch:
		r.Problem(l.Line, "link %s: a switch has as many ports as links join it, without names: say %s, not %s", l, e.Node, e)
	case !ok:
		r.Problem(l.Line, "link %s: there is no host or switch %q; there are %s", l, e.Node, strings.Join(t.nodes(), ", "))
	case e.Interface == "":
		r.Problem(l.Line, "link %s: say which interface of host %s, e.g. %s.eth0", l, e.Node, e.Node)
	case !slices.ContainsFunc(h.Interfaces, func(i Interface) bool { return i.Name == e.Interface }):
		r.Problem(l.Line, "link %s: host %s has no interface %q", l, e.Node, e.Interface)
	}
}

func (r *reader) checkShape(l Link, s Shape) {
	bad := func(what string, v any, want string) { r.Problem(l.Line, "link %s: %s %v: %s", l, what, v, want) }
	if s.Rate <= 0 || s.Rate > maxRate {
		bad("rate", s.Rate, "want more than 0, at most "+maxRate.String())
	}
	if s.Delay < 0 || s.Delay > maxRTT/2 {
		bad("delay", s.Delay, "want 0 to "+(maxRTT/2).String()+" one way")
	}
	if s.Jitter < 0 || s.Jitter > s.Delay {
		bad("jitter", s.Jitter, "want 0 to the delay")
	}
	if s.ReorderBy < 0 || s.ReorderBy > maxRTT || s.Reorder > 0 && s.ReorderBy == 0 {
		bad("reorder_by", s.ReorderBy, "say by how much packets are late, up to "+maxRTT.String())
	}
	if s.LossBurst < 0 || s.LossBurst > 1e6 {
		bad("loss_burst", s.LossBurst, "want a mean number of packets")
	}
	if s.MTU != 0 {
		r.checkMTU(l.Line, "link "+l.String(), s.MTU)
	}
	if s.Queue != 0 && s.Queue < 2*unit.KB {
		bad("queue", s.Queue, "want room for a packet at least, 2KB")
	}
}

// checkPorts reports interfaces that are not on exactly one link.
func (r *reader) checkPorts(t *Topology) {
	used := map[End]int{}
	for _, l := range t.Links {
		for _, e := range []End{l.A, l.B} {
			if e.Interface == "" {
				continue
			}
			if used[e]++; used[e] > 1 {
				r.Problem(l.Line, "link %s: %s is on another link already", l, e)
			}
		}
	}
	for _, h := range t.Hosts {
		for _, i := range h.Interfaces {
			if used[End{h.Name, i.Name}] == 0 {
				r.Problem(h.Line, "interface %s.%s is on no link", h.Name, i.Name)
			}
		}
	}
}

// checkLoops refuses loops of switches: without spanning tree a frame would circulate for
// ever.
func (r *reader) checkLoops(t *Topology) {
	group := map[string]string{}
	var find func(string) string
	find = func(s string) string {
		if group[s] == "" || group[s] == s {
			return s
		}
		return find(group[s])
	}
	for _, l := range t.Links {
		if l.A.Interface != "" || l.B.Interface != "" {
			continue
		}
		a, b := find(l.A.Node), find(l.B.Node)
		if a == b {
			r.Problem(l.Line, "link %s closes a loop of switches", l)
			continue
		}
		group[a] = b
	}
}

func (r *reader) checkAddresses(t *Topology) {
	owner := map[netip.Addr]Port{}
	nets := map[netip.Prefix]int{}
	for i, seg := range t.Segments() {
		first := seg[0].Interface.Addr.Masked()
		for _, p := range seg {
			h, _ := t.Host(p.Host)
			a := p.Interface.Addr
			if other, ok := owner[a.Addr()]; ok {
				r.Problem(h.Line, "address %s of %s is that of %s", a.Addr(), p, other)
			}
			owner[a.Addr()] = p
			if a.Masked() != first {
				r.Problem(h.Line, "%s (%s) and %s (%s) are joined, but on different networks", seg[0], seg[0].Interface.Addr, p, a)
			}
		}
		for n, j := range nets {
			if j != i && n.Overlaps(first) {
				h, _ := t.Host(seg[0].Host)
				r.Problem(h.Line, "network %s of %s overlaps with %s, which is not joined to it", first, seg[0], n)
			}
		}
		nets[first] = i
	}
}

func (r *reader) checkFlow(t *Topology) {
	f := t.Flow
	h, ok := t.Host(f.Receiver)
	if !ok || len(f.Senders) == 0 {
		r.Problem(1, "flow: say from which hosts to which: flow: {from: [client1], to: server1, via: eth0}")
		return
	}
	if !slices.ContainsFunc(h.Interfaces, func(i Interface) bool { return i.Name == f.Via }) {
		r.Problem(1, "flow: host %s has no interface %q", f.Receiver, f.Via)
		return
	}
	for _, s := range f.Senders {
		if _, ok := t.Host(s); !ok {
			r.Problem(1, "flow: there is no host %q", s)
		} else if _, ok := t.Path(s, f.Receiver, f.Via); !ok || s == f.Receiver {
			r.Problem(1, "flow: %s has no way to %s.%s", s, f.Receiver, f.Via)
		}
	}
}
