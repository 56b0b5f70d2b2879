package mover

import (
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"

	"linerate/internal/facts"
	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/move/wire"
	"linerate/internal/unit"
)

// Near is where threads of an end run, on a host of several NUMA nodes: those that read or write
// files near the disk, and those that send or receive near the card.
type Near struct {
	Disk *Bound `json:"disk,omitempty"`
	Net  *Bound `json:"net,omitempty"`
	Why  string `json:"why,omitempty"` // one of them, or both, run anywhere
}

// Bound is what some threads are near to.
type Bound struct {
	Of   string `json:"of"` // number of the block device, or name of the interface
	Node int    `json:"node"`
	CPUs []int  `json:"cpus"`
}

// leastCPUs: fewer could hold a copy back more than the way between nodes does.
const leastCPUs = 8

// attached is a disk or a card and its node.
type attached struct {
	of   string
	node model.Fact[int]
}

// decide says where threads run, of the CPUs that the process may use.
func decide(nodes model.Fact[[]model.Node], may []int, disk, card attached) *Near {
	all, ok := nodes.Get()
	switch {
	case !ok:
		return &Near{Why: "NUMA nodes are not known: " + nodes.Why}
	case len(all) < 2:
		return &Near{Why: "this host has one NUMA node"}
	}
	n := &Near{}
	var why []string
	for _, x := range []struct {
		what string
		at   attached
		to   **Bound
	}{{"files", disk, &n.Disk}, {"connections", card, &n.Net}} {
		b, not := x.at.bound(all, may)
		if *x.to = b; b == nil {
			why = append(why, x.what+": "+not)
		}
	}
	n.Why = strings.Join(why, "; ")
	return n
}

// bound are the CPUs near it, or why none are chosen.
func (a attached) bound(nodes []model.Node, may []int) (*Bound, string) {
	id, ok := a.node.Get()
	if !ok {
		return nil, a.node.Why
	}
	i := slices.IndexFunc(nodes, func(n model.Node) bool { return n.ID == id })
	if i < 0 {
		return nil, fmt.Sprintf("%s is at NUMA node %d, which this host does not list", a.of, id)
	}
	b := &Bound{Of: a.of, Node: id}
	for _, c := range nodes[i].CPUs {
		if slices.Contains(may, c) {
			b.CPUs = append(b.CPUs, c)
		}
	}
	if len(b.CPUs) < leastCPUs {
		return nil, fmt.Sprintf("%s is at NUMA node %d, of which this process may use %s: fewer than %d could hold it back", a.of, id, unit.Count(len(b.CPUs), "CPU"), leastCPUs)
	}
	return b, ""
}

// wire is Near as the threads take it.
func (n *Near) wire() (out wire.Near) {
	if n != nil && n.Disk != nil {
		out.Disk = n.Disk.CPUs
	}
	if n != nil && n.Net != nil {
		out.Net = n.Net.CPUs
	}
	return out
}

// cpus is how many CPUs the copy may use.
func (n *Near) cpus() int {
	w := n.wire()
	if len(w.Disk) == 0 || len(w.Net) == 0 {
		return runtime.NumCPU()
	}
	both := slices.Sorted(slices.Values(slices.Concat(w.Disk, w.Net)))
	return len(slices.Compact(both))
}

// near decides where the threads of this end run: at is its data address.
func (m *mover) near(at netip.Addr) *Near {
	src := kernel.Root("/")
	nodes := facts.Nodes(src)
	if all, ok := nodes.Get(); !ok || len(all) < 2 {
		return decide(nodes, nil, attached{}, attached{})
	}
	may, err := kernel.Affinity()
	if err != nil {
		return &Near{Why: err.Error()}
	}
	disk := attached{node: model.Unknown[int](model.Unsupported, "there are none")}
	if n := len(m.ends); n > 0 {
		disk.of = m.ends[n-1].Device()
		disk.node = facts.DiskNode(src, disk.of)
	}
	card := attached{of: interfaceOf(at)}
	card.node = facts.NICNode(src, card.of)
	return decide(nodes, may, disk, card)
}

// interfaceOf is the name of the interface that has an address; "": none that is seen.
func interfaceOf(at netip.Addr) string {
	all, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range all {
		addrs, _ := i.Addrs() // one that is gone meanwhile has none
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == at.Unmap().WithZone("") {
				return i.Name
			}
		}
	}
	return ""
}
