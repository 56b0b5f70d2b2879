package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/wire"
	"linerate/internal/unit"
)

// host is an emulated host that is up.
type host struct {
	spec   topology.Host
	index  int
	holder *wire.Helper
	start  uint64 // of the holder
	cpus   []int
	groups []kernel.Cgroup
	// machine is that of a host with a kernel of its own; nil in a namespace.
	machine *machine
}

func (h *host) mac(iface string) net.HardwareAddr {
	i := slices.IndexFunc(h.spec.Interfaces, func(i topology.Interface) bool { return i.Name == iface })
	return topology.MAC(h.index, i)
}

// place gives every host a core. The receiver of the flow gets one that no other host has, and the
// senders share the rest. The links get the last of three or more cores or, of two, that of the
// senders: never the receiver's, which a fault may keep busy.
func (l *Lab) place(cpus []int) {
	n := len(cpus)
	if n == 1 {
		for _, h := range l.hosts {
			h.cpus = cpus
		}
		l.fabricCPUs = cpus
		return
	}
	if n == 2 && l.fast() {
		// Links this fast take a core for themselves; two hosts fit on another.
		l.fabricCPUs = cpus[:1]
		for _, h := range l.hosts {
			h.cpus = cpus[1:]
		}
		l.note("a core per host: this machine has 2, and links of these rates take one; the hosts share the other")
		return
	}
	rest := append([]int{cpus[0]}, cpus[2:]...)
	l.fabricCPUs = rest[:1]
	if len(rest) > 1 {
		l.fabricCPUs, rest = rest[len(rest)-1:], rest[:len(rest)-1]
	}
	next := 0
	for _, h := range l.hosts {
		if h.spec.Kind == topology.Device {
			h.cpus = cpus // four, for inspection and not for measurement
			continue
		}
		if h.spec.Name == l.topo.Flow.Receiver {
			h.cpus = cpus[1:2]
			continue
		}
		h.cpus = rest[next%len(rest) : next%len(rest)+1]
		next++
	}
}

// fast reports whether the links take most of a core: they pass some 10 Gbit/s
// with one.
func (l *Lab) fast() bool {
	for _, link := range l.topo.Links {
		if !link.Direct && max(link.AB.Rate, link.BA.Rate) >= 5*unit.Gbit {
			return true
		}
	}
	return false
}

const cgroupPrefix = "linerate-"

// makeCgroups gives each host a group in every hierarchy that binds it to its
// core, gives it weight, or bounds its memory. Where that is not permitted,
// only CPU affinity binds it.
func (l *Lab) makeCgroups(context.Context) error {
	trees, err := kernel.CgroupHierarchies("/")
	if err != nil {
		l.note("cgroup per host: " + err.Error() + "; CPU affinity only")
		return nil
	}
	made := false
	for _, tree := range trees {
		for _, h := range l.hosts {
			if !useful(tree, h.spec) {
				continue
			}
			g, err := kernel.MakeCgroup(tree, cgroupPrefix+l.id+"-"+h.spec.Name, h.cpus)
			if errors.Is(err, fs.ErrPermission) {
				err = errors.New("not permitted")
			}
			if err != nil {
				l.note("cgroup per host: " + err.Error() + "; CPU affinity only")
				return nil
			}
			made = true
			l.groups, h.groups = append(l.groups, g), append(h.groups, g)
			if err := l.capMemory(tree, g, h.spec); err != nil {
				return err
			}
		}
	}
	if !made {
		l.note("cgroup per host: no cpuset or cpu controller to be had; CPU affinity only")
	}
	l.noteUncapped(trees)
	return nil
}

// noteUncapped says which hosts have more memory than the topology gives them.
func (l *Lab) noteUncapped(trees []kernel.Hierarchy) {
	if slices.ContainsFunc(trees, func(h kernel.Hierarchy) bool { return slices.Contains(h.Controllers, "memory") }) {
		return
	}
	for _, h := range l.hosts {
		if h.spec.Memory > 0 && h.spec.Kind == topology.Namespace {
			l.note(fmt.Sprintf("memory of %s: no memory controller to be had; it is not capped at %v", h.spec.Name, h.spec.Memory))
		}
	}
}

func useful(tree kernel.Hierarchy, h topology.Host) bool {
	has := func(c string) bool { return slices.Contains(tree.Controllers, c) }
	return has("cpuset") || has("cpu") || has("memory") && h.Memory > 0
}

// capMemory bounds what a host's processes use, their page cache included: a
// client cannot hold in memory what it reads.
func (l *Lab) capMemory(tree kernel.Hierarchy, g kernel.Cgroup, h topology.Host) error {
	// A host with a kernel of its own was given its memory when it was started.
	if h.Memory <= 0 || h.Kind != topology.Namespace || !slices.Contains(tree.Controllers, "memory") {
		return nil
	}
	return g.LimitMemory(tree, h.Memory)
}

func (l *Lab) startHosts(ctx context.Context) error {
	for _, h := range l.hosts {
		if h.spec.Kind != topology.Namespace {
			continue
		}
		all := kernel.Namespaces{Net: true, Mount: true, UTS: true}
		holder, err := wire.Start("host "+h.spec.Name, l.self("lab-holder"), l.env(), all)
		if err != nil {
			return err
		}
		h.holder = holder
		if h.start, err = kernel.ProcessStart("/proc", holder.PID()); err != nil {
			return err
		}
		if err := l.setUp(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) setUp(ctx context.Context, h *host) error {
	var out leftOut
	if err := h.holder.Call(ctx, "setup", setupArgs{h.spec.Name, hostSysctls(h.spec), h.machine != nil}, &out); err != nil {
		return err
	}
	l.note(out.LeftOut...)
	return nil
}

// hostSysctls makes hosts alike on any machine: they get the kernel's own defaults for the TCP
// buffers, since a namespace inherits the machine's tuned ones, and keep nothing of one run for the
// next.
func hostSysctls(h topology.Host) map[string]string {
	out := map[string]string{
		"net.ipv4.tcp_no_metrics_save": "1",
		// Each port answers for its own address only, as on a carefully configured host with
		// several ports in one network; the kernel's default is the fault arp-flux.
		"net.ipv4.conf.all.arp_ignore":   "1",
		"net.ipv4.conf.all.arp_announce": "2",
		"net.ipv4.tcp_rmem":              defaultRmem,
		"net.ipv4.tcp_wmem":              defaultWmem,
	}
	if h.Forward {
		out["net.ipv4.ip_forward"] = "1"
	}
	return out
}

// Buffer sizes as net/ipv4/tcp.c sets them on a machine with memory enough.
const (
	defaultRmem = "4096 131072 6291456"
	defaultWmem = "4096 16384 4194304"
)

func (l *Lab) setAddresses(ctx context.Context) error {
	for _, h := range l.hosts {
		if err := l.addressHost(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) addressHost(ctx context.Context, h *host) error {
	for _, i := range h.spec.Interfaces {
		want := kernel.Interface{Name: i.Name, MTU: i.MTU, Addr: i.Addr, Up: true, Neighbours: l.neighbours(h, i)}
		quiet := sysctlArgs{"net.ipv6.conf." + i.Name + ".disable_ipv6", "1"}
		// Without IPv6 in the kernel there is no such key, nor any noise.
		_ = h.holder.Call(ctx, "sysctl", quiet, nil)
		if err := h.holder.Call(ctx, "interface", want, nil); err != nil {
			return err
		}
	}
	for _, r := range h.spec.Routes {
		if err := h.holder.Call(ctx, "route", routeArgs{r.To, r.Via}, nil); err != nil {
			return err
		}
	}
	return nil
}

// neighbours are fixed where one cable joins two hosts, so that no ARP is
// needed on a link that may be losing packets. Over a switch hosts ask.
func (l *Lab) neighbours(h *host, i topology.Interface) map[netip.Addr]net.HardwareAddr {
	me := topology.End{Node: h.spec.Name, Interface: i.Name}
	for _, link := range l.topo.Links {
		other := link.B
		if link.B == me {
			other = link.A
		} else if link.A != me {
			continue
		}
		if peer := l.host(other.Node); peer != nil {
			to, _ := l.topo.Interface(other.Node, other.Interface)
			return map[netip.Addr]net.HardwareAddr{to.Addr.Addr(): peer.mac(other.Interface)}
		}
	}
	return nil
}

func (l *Lab) host(name string) *host {
	for _, h := range l.hosts {
		if h.spec.Name == name {
			return h
		}
	}
	return nil
}

// find is host with an error that lists those there are.
func (l *Lab) find(name string) (*host, error) {
	if h := l.host(name); h != nil {
		return h, nil
	}
	var names []string
	for _, h := range l.hosts {
		names = append(names, h.spec.Name)
	}
	return nil, fmt.Errorf("there is no host %q in this lab; there are %s", name, strings.Join(names, ", "))
}
