package fault

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

// site is where in a topology a fault acts: the ends of the flow and one place on its path.
type site struct {
	topo             topology.Topology
	sender, receiver topology.End // the interfaces that carry the data
	road             []hop        // from sender to receiver
	hop              hop          // the link acted on
	end              topology.End // the host's interface acted on
	sw               string       // the switch acted on
}

// hop is a link as the data crosses it: dir 0 is from its A to its B.
type hop struct {
	link topology.Link
	dir  int
}

// ends of the hop in the direction of the data.
func (h hop) ends() (from, to topology.End) {
	if h.dir == 0 {
		return h.link.A, h.link.B
	}
	return h.link.B, h.link.A
}

// newSite finds the flow's path through the topology.
func newSite(t topology.Topology) (*site, error) {
	if len(t.Flow.Senders) == 0 || t.Flow.Receiver == "" {
		return nil, fmt.Errorf("topology %s says nothing of a flow: name its senders and its receiver", t.Name)
	}
	road := findRoad(t, t.Flow.Senders[0], topology.End{Node: t.Flow.Receiver, Interface: t.Flow.Via})
	if len(road) == 0 {
		return nil, fmt.Errorf("topology %s: no way from %s to %s", t.Name, t.Flow.Senders[0], t.Flow.Receiver)
	}
	s := &site{topo: t, road: road, hop: road[0]}
	s.sender, _ = road[0].ends()
	_, s.receiver = road[len(road)-1].ends()
	for _, h := range road {
		if _, to := h.ends(); to.Interface == "" && s.sw == "" {
			s.sw = to.Node
		}
	}
	return s, nil
}

// findRoad finds the path with the fewest links from host to an end (to any interface of its
// node if it names none). Switches and forwarding hosts pass traffic.
func findRoad(t topology.Topology, from string, to topology.End) []hop {
	type step struct {
		node string
		road []hop
	}
	seen := map[string]bool{from: true}
	for queue := []step{{node: from}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, h := range hopsFrom(t, at.node) {
			_, end := h.ends()
			road := append(slices.Clone(at.road), h)
			if end.Node == to.Node && (to.Interface == "" || end.Interface == to.Interface) {
				return road
			}
			if !seen[end.Node] && passes(t, end.Node) {
				seen[end.Node] = true
				queue = append(queue, step{end.Node, road})
			}
		}
	}
	return nil
}

func hopsFrom(t topology.Topology, node string) []hop {
	var out []hop
	for _, l := range t.Links {
		if l.A.Node == node {
			out = append(out, hop{l, 0})
		}
		if l.B.Node == node {
			out = append(out, hop{l, 1})
		}
	}
	return out
}

func passes(t topology.Topology, node string) bool {
	h, ok := t.Host(node)
	return !ok || h.Forward
}

// findInterface returns the interface of an end; nil if there is none.
func findInterface(t topology.Topology, e topology.End) *topology.Interface {
	i, ok := t.Interface(e.Node, e.Interface)
	if !ok {
		return nil
	}
	return &i
}

// rate is that of the slowest link on the path.
func (s *site) rate() unit.BitRate {
	rate, _, _ := s.topo.Ceiling(s.sender.Node, s.receiver.Node, s.receiver.Interface)
	return rate
}

// mtu is that of the path: the smallest of its ends and links.
func (s *site) mtu() int {
	_, _, mtu := s.topo.Ceiling(s.sender.Node, s.receiver.Node, s.receiver.Interface)
	return mtu
}

// aim points the site at target: "link:ID", "switch:NAME", "host:NAME", or "" for the fault's
// own place.
func (s *site) aim(p Place, target string) error {
	kind, name, _ := strings.Cut(target, ":")
	switch {
	case target == "":
		return s.aimDefault(p)
	case p == AtApplication:
		return fmt.Errorf("an application fault has no target, got %q", target)
	case kind != kindOf(p):
		return fmt.Errorf("target %q: this fault applies to a %s: write %s:NAME", target, p, kindOf(p))
	case p == AtLink:
		return s.aimLink(name)
	case p == AtSwitch:
		return s.aimSwitch(name)
	}
	return s.aimHost(name)
}

// kindOf is the word before the colon of a target.
func kindOf(p Place) string {
	switch p {
	case AtLink, AtSwitch:
		return string(p)
	}
	return "host"
}

func (s *site) aimDefault(p Place) error {
	switch p {
	case AtSender:
		s.end = s.sender
	case AtReceiver, AtServer:
		s.end = s.receiver
	case AtSwitch:
		if s.sw == "" {
			return fmt.Errorf("topology %s has no switch between %s and %s: bring up one that has, e.g. cluster", s.topo.Name, s.sender.Node, s.receiver.Node)
		}
	}
	if p == AtServer {
		if h := s.serverHost(); h != "" {
			return s.aimHost(h)
		}
	}
	return nil
}

// serverHost is the first host that serves storage.
func (s *site) serverHost() string {
	for _, h := range s.topo.Hosts {
		if len(h.Servers) > 0 {
			return h.Name
		}
	}
	return ""
}

// aimLink points the site at a link. If the flow does not cross it, data is assumed to go from
// its A to its B.
func (s *site) aimLink(id string) error {
	for _, h := range s.road {
		if h.link.ID == id {
			s.hop = h
			return nil
		}
	}
	if l, ok := s.topo.Link(id); ok {
		s.hop = hop{l, 0}
		return nil
	}
	return fmt.Errorf("unknown link %q: topology %s has %s", id, s.topo.Name, strings.Join(linkIDs(s.topo), ", "))
}

func (s *site) aimSwitch(name string) error {
	var names []string
	for _, w := range s.topo.Switches {
		if w.Name == name {
			s.sw = name
			return nil
		}
		names = append(names, w.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("unknown switch %q: topology %s has none", name, s.topo.Name)
	}
	return fmt.Errorf("unknown switch %q: topology %s has %s", name, s.topo.Name, strings.Join(names, ", "))
}

// aimHost points the site at the host's interface that carries the flow, or else at its first.
func (s *site) aimHost(name string) error {
	h, ok := s.topo.Host(name)
	if !ok {
		return fmt.Errorf("unknown host %q: topology %s has %s", name, s.topo.Name, strings.Join(hostNames(s.topo), ", "))
	}
	for _, e := range []topology.End{s.sender, s.receiver} {
		if e.Node == name {
			s.end = e
			return nil
		}
	}
	if len(h.Interfaces) == 0 {
		return fmt.Errorf("host %q of topology %s has no interface", name, s.topo.Name)
	}
	s.end = topology.End{Node: name, Interface: h.Interfaces[0].Name}
	return nil
}

func linkIDs(t topology.Topology) []string {
	var out []string
	for _, l := range t.Links {
		out = append(out, l.ID)
	}
	return out
}

func hostNames(t topology.Topology) []string {
	var out []string
	for _, h := range t.Hosts {
		out = append(out, h.Name)
	}
	return out
}
