package topology

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"linerate/internal/unit"
)

// Parse reads a topology from YAML. name is the file's, for messages. The
// error lists every problem found, one a line, in the order of the file:
// file:line: reason.
func Parse(name string, data []byte) (Topology, error) {
	r := &reader{file: name}
	root := r.document(data)
	var t Topology
	if root.ok() {
		t = r.topology(root)
	}
	if r.failed() {
		return Topology{}, r.err()
	}
	r.validate(&t)
	if r.failed() {
		return Topology{}, r.err()
	}
	return t, nil
}

func (r *reader) topology(n node) Topology {
	r.known(n, "name", "title", "paper", "about", "hosts", "switches", "links", "flow")
	t := Topology{Name: n.get("name").text(), Title: n.get("title").text(), Paper: n.get("paper").text(), About: n.get("about").text()}
	for _, f := range n.get("hosts").fields() {
		t.Hosts = append(t.Hosts, r.host(f.key, f.value))
	}
	for _, f := range n.get("switches").fields() {
		t.Switches = append(t.Switches, r.aSwitch(f.key, f.value))
	}
	for _, item := range n.get("links").items() {
		t.Links = append(t.Links, r.link(item))
	}
	t.Flow = r.flow(n.get("flow"))
	return t
}

// Defaults of what a file does not say.
const (
	defaultMTU       = 1500
	defaultSwitchMTU = 9216
	defaultMemory    = 512 * unit.MiB
	defaultDisk      = unit.GiB
)

func (r *reader) host(name string, n node) Host {
	r.known(n, "kind", "memory", "interfaces", "routes", "forward", "disks", "servers")
	h := Host{Name: name, Kind: Namespace, Memory: n.get("memory").bytes(0), Forward: n.get("forward").boolean(), Line: n.line}
	if k := n.get("kind"); k.ok() {
		h.Kind = Kind(k.text())
		if !slices.Contains([]Kind{Namespace, Kernel, Device}, h.Kind) {
			r.at(k, "host %s: kind %q: choose namespace, kernel or device", name, h.Kind)
		}
	}
	for _, f := range n.get("interfaces").fields() {
		r.known(f.value, "address", "mtu", "nic", "numa", "pcie")
		h.Interfaces = append(h.Interfaces, Interface{Name: f.key, Addr: f.value.get("address").prefix(), MTU: f.value.get("mtu").integer(defaultMTU), Card: r.card(f.value)})
	}
	for _, item := range n.get("routes").items() {
		r.known(item, "to", "via")
		route := Route{Via: item.get("via").addr()}
		if to := item.get("to"); to.ok() && to.text() != "default" {
			route.To = to.prefix().Masked()
		}
		h.Routes = append(h.Routes, route)
	}
	for _, f := range n.get("disks").fields() {
		r.known(f.value, "size", "rate")
		h.Disks = append(h.Disks, Disk{Name: f.key, Size: f.value.get("size").bytes(defaultDisk), Rate: f.value.get("rate").rate()})
	}
	for _, item := range n.get("servers").items() {
		s := r.server(name, item, h.Disks)
		if slices.ContainsFunc(h.Servers, func(o Server) bool { return o.Kind == s.Kind }) {
			r.at(item, "host %s: a second %s server: its port is taken", name, s.Kind)
		}
		h.Servers = append(h.Servers, s)
	}
	return h
}

// card reads what an interface is on a device host.
func (r *reader) card(n node) Card {
	c := Card{Model: "e1000e", Node: n.get("numa").integer(0)}
	if m := n.get("nic"); m.ok() {
		c.Model = m.text()
		if !slices.Contains([]string{"e1000e", "vmxnet3", "igb"}, c.Model) {
			r.at(m, "nic %q: choose e1000e, vmxnet3 or igb", c.Model)
		}
	}
	if c.Node != 0 && c.Node != 1 {
		r.at(n.get("numa"), "numa %d: a device host has nodes 0 and 1", c.Node)
	}
	if p := n.get("pcie"); p.ok() {
		r.known(p, "speed", "width")
		c.PortSpeed, c.PortWidth = p.get("speed").number(), p.get("width").integer(1)
		if !slices.Contains([]float64{2.5, 5, 8, 16}, c.PortSpeed) || !slices.Contains([]int{1, 2, 4, 8, 16}, c.PortWidth) {
			r.at(p, "pcie: want a speed of 2.5, 5, 8 or 16 (GT/s) and a width of 1, 2, 4, 8 or 16 lanes")
		}
	}
	return c
}

// server is a kind alone, or a kind and the disk it serves.
func (r *reader) server(host string, n node, disks []Disk) Server {
	s := Server{Kind: n.text()}
	if n.isMap() {
		r.known(n, "kind", "disk")
		s = Server{Kind: n.get("kind").text(), Disk: n.get("disk").text()}
	}
	if !slices.Contains(serverKinds(), s.Kind) {
		r.at(n, "host %s: there is no server %q; choose nfs, smb, iscsi or ssh", host, s.Kind)
	}
	if s.Disk != "" && !slices.ContainsFunc(disks, func(d Disk) bool { return d.Name == s.Disk }) {
		r.at(n, "host %s: server %s: the host has no disk %q", host, s.Kind, s.Disk)
	}
	return s
}

func (r *reader) aSwitch(name string, n node) Switch {
	r.known(n, "mtu")
	return Switch{Name: name, MTU: n.get("mtu").integer(defaultSwitchMTU), Line: n.line}
}

func (r *reader) link(n node) Link {
	r.known(n, append([]string{"between", "rtt", "there", "back", "direct"}, shapeKeys()...)...)
	l := Link{Line: n.line}
	ends := n.get("between").items()
	if len(ends) != 2 {
		r.at(n, "a link is between two ends: between: [client1.eth0, switch]")
		return l
	}
	l.A, l.B = parseEnd(ends[0].text()), parseEnd(ends[1].text())
	l.ID = linkID(l.A, l.B)
	l.Direct = n.get("direct").boolean()
	both := r.shape(n, Shape{})
	if rtt := n.get("rtt"); rtt.ok() {
		both.Delay = rtt.duration() / 2
	}
	l.AB, l.BA = both, both
	if d := n.get("there"); d.ok() {
		r.known(d, shapeKeys()...)
		l.AB = r.shape(d, both)
	}
	if d := n.get("back"); d.ok() {
		r.known(d, shapeKeys()...)
		l.BA = r.shape(d, both)
	}
	return l
}

func shapeKeys() []string {
	return []string{"rate", "delay", "jitter", "loss", "loss_burst", "duplicate", "reorder", "reorder_by", "mtu", "queue"}
}

// shape reads one direction; what is not said is as in base.
func (r *reader) shape(n node, base Shape) Shape {
	s := base
	for _, f := range n.fields() {
		v := f.value
		switch f.key {
		case "rate":
			s.Rate = v.rate()
		case "delay":
			s.Delay = v.duration()
		case "jitter":
			s.Jitter = v.duration()
		case "loss":
			s.Loss = v.share()
		case "loss_burst":
			s.LossBurst = v.number()
		case "duplicate":
			s.Duplicate = v.share()
		case "reorder":
			s.Reorder = v.share()
		case "reorder_by":
			s.ReorderBy = v.duration()
		case "mtu":
			s.MTU = v.integer(0)
		case "queue":
			s.Queue = v.bytes(0)
		}
	}
	return s
}

func (r *reader) flow(n node) Flow {
	r.known(n, "from", "to", "via")
	f := Flow{Receiver: n.get("to").text(), Via: n.get("via").text()}
	for _, item := range n.get("from").items() {
		f.Senders = append(f.Senders, item.text())
	}
	return f
}

// problem is one thing wrong, at a line.
type problem struct {
	line int
	what string
}

type reader struct {
	file     string
	problems []problem
}

func (r *reader) failed() bool { return len(r.problems) > 0 }

func (r *reader) at(n node, format string, args ...any) { r.line(n.line, format, args...) }

func (r *reader) line(line int, format string, args ...any) {
	r.problems = append(r.problems, problem{line, fmt.Sprintf(format, args...)})
}

// err is all problems, each once, in the order of the file.
func (r *reader) err() error {
	slices.SortStableFunc(r.problems, func(a, b problem) int { return a.line - b.line })
	var errs []error
	for _, p := range slices.Compact(r.problems) {
		errs = append(errs, fmt.Errorf("%s:%d: %s", r.file, p.line, p.what))
	}
	return errors.Join(errs...)
}

// bounds of times in a file.
const maxRTT = 2 * time.Second
