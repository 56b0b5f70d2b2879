package topology

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/conf"
	"linerate/internal/unit"
)

// Parse reads a topology from YAML. name is the file name for messages. The error lists every
// problem, one per line, in the order of the file: file:line: reason.
func Parse(name string, data []byte) (Topology, error) {
	kind := conf.Kind{Name: "a topology", Want: "want one YAML document with hosts and links", Place: "%s:%d: %s"}
	r := &reader{conf.NewReader(kind, name)}
	root := r.Document(data)
	if !r.Failed() && !root.IsMapping() {
		r.Problem(root.Line, "want keys such as name, hosts and links")
	}
	if r.Failed() {
		return Topology{}, r.Err()
	}
	t := r.topology(root)
	if !r.Failed() {
		r.validate(&t)
	}
	if r.Failed() {
		return Topology{}, r.Err()
	}
	return t, nil
}

// reader collects the problems of a topology.
type reader struct{ *conf.Reader }

func (r *reader) topology(n conf.Node) Topology {
	m := n.Table("topology", "name", "title", "paper", "about", "hosts", "switches", "links", "flow")
	t := Topology{Name: m.Text("name"), Title: m.Text("title"), Paper: m.Text("paper"), About: m.Text("about")}
	for _, h := range m.Get("hosts").Table("hosts").All() {
		t.Hosts = append(t.Hosts, r.host(h))
	}
	for _, s := range m.Get("switches").Table("switches").All() {
		mtu := s.Table(s.Key, "mtu").Get("mtu")
		t.Switches = append(t.Switches, Switch{Name: s.Key, MTU: integer(mtu, defaultSwitchMTU), Line: s.Line})
	}
	for _, item := range m.Get("links").Items() {
		t.Links = append(t.Links, r.link(item))
	}
	t.Flow = flow(m.Get("flow"))
	return t
}

// Defaults of values that a file does not state.
const (
	defaultMTU       = 1500
	defaultSwitchMTU = 9216
	defaultDisk      = unit.GiB
)

func (r *reader) host(n conf.Node) Host {
	t := n.Table(n.Key, "kind", "memory", "interfaces", "routes", "forward", "disks", "servers")
	h := Host{
		Name: n.Key, Kind: Namespace, Line: n.Line,
		Memory: size(t.Get("memory"), 0), Forward: t.Get("forward").Bool(),
	}
	if t.Has("kind") {
		h.Kind = Kind(t.Text("kind"))
		if !slices.Contains([]Kind{Namespace, Kernel, Device}, h.Kind) {
			r.Problem(t.Where("kind"), "host %s: kind %q: choose namespace, kernel or device", h.Name, h.Kind)
		}
	}
	for _, i := range t.Get("interfaces").Table("interfaces").All() {
		h.Interfaces = append(h.Interfaces, r.iface(i))
	}
	for _, item := range t.Get("routes").Items() {
		h.Routes = append(h.Routes, route(item))
	}
	for _, d := range t.Get("disks").Table("disks").All() {
		of := d.Table(d.Key, "size", "rate")
		h.Disks = append(h.Disks, Disk{Name: d.Key, Size: size(of.Get("size"), defaultDisk), Rate: rate(of.Get("rate"))})
	}
	for _, item := range t.Get("servers").Items() {
		s := r.server(h.Name, item, h.Disks)
		if slices.ContainsFunc(h.Servers, func(o Server) bool { return o.Kind == s.Kind }) {
			r.Problem(item.Line, "host %s: a second %s server: its port is taken", h.Name, s.Kind)
		}
		h.Servers = append(h.Servers, s)
	}
	return h
}

// iface reads an interface, with its card if the host is a device host.
func (r *reader) iface(n conf.Node) Interface {
	t := n.Table(n.Key, "address", "mtu", "nic", "numa", "pcie")
	c := Card{Model: "e1000e", Node: integer(t.Get("numa"), 0)}
	if t.Has("nic") {
		c.Model = t.Text("nic")
		if !slices.Contains([]string{"e1000e", "vmxnet3", "igb"}, c.Model) {
			r.Problem(t.Where("nic"), "nic %q: choose e1000e, vmxnet3 or igb", c.Model)
		}
	}
	if c.Node != 0 && c.Node != 1 {
		r.Problem(t.Where("numa"), "numa %d: a device host has nodes 0 and 1", c.Node)
	}
	if t.Has("pcie") {
		p := t.Get("pcie").Table("pcie", "speed", "width")
		c.PortSpeed, c.PortWidth = number(p.Get("speed")), integer(p.Get("width"), 1)
		if !slices.Contains([]float64{2.5, 5, 8, 16}, c.PortSpeed) || !slices.Contains([]int{1, 2, 4, 8, 16}, c.PortWidth) {
			r.Problem(p.Line, "pcie: want a speed of 2.5, 5, 8 or 16 (GT/s) and a width of 1, 2, 4, 8 or 16 lanes")
		}
	}
	return Interface{Name: n.Key, Addr: prefix(t.Get("address")), MTU: integer(t.Get("mtu"), defaultMTU), Card: c}
}

func route(n conf.Node) Route {
	t := n.Table(n.Key, "to", "via")
	out := Route{Via: conf.Read(t.Get("via"), "an address such as 10.0.0.1", netip.ParseAddr)}
	if t.Has("to") && t.Text("to") != "default" {
		out.To = prefix(t.Get("to")).Masked()
	}
	return out
}

// server reads a server: only a kind, or a kind and the disk that it serves.
func (r *reader) server(host string, n conf.Node, disks []Disk) Server {
	s := Server{}
	if n.IsMapping() {
		t := n.Table(n.Key, "kind", "disk")
		s = Server{Kind: t.Text("kind"), Disk: t.Text("disk")}
	} else {
		s.Kind = n.Text()
	}
	if !slices.Contains(serverKinds(), s.Kind) {
		r.Problem(n.Line, "host %s: there is no server %q; choose nfs, smb, iscsi or ssh", host, s.Kind)
	}
	if s.Disk != "" && !slices.ContainsFunc(disks, func(d Disk) bool { return d.Name == s.Disk }) {
		r.Problem(n.Line, "host %s: server %s: the host has no disk %q", host, s.Kind, s.Disk)
	}
	return s
}

func (r *reader) link(n conf.Node) Link {
	t := n.Table(n.Key, append([]string{"between", "rtt", "there", "back", "direct"}, shapeKeys()...)...)
	l := Link{Line: n.Line}
	ends := t.Get("between").Items()
	if len(ends) != 2 {
		r.Problem(n.Line, "a link is between two ends: between: [client1.eth0, switch]")
		return l
	}
	l.A, l.B = parseEnd(ends[0].Text()), parseEnd(ends[1].Text())
	l.ID = linkID(l.A, l.B)
	l.Direct = t.Get("direct").Bool()
	both := shape(t, Shape{})
	if t.Has("rtt") {
		both.Delay = duration(t.Get("rtt")) / 2
	}
	l.AB = shape(t.Get("there").Table("there", shapeKeys()...), both)
	l.BA = shape(t.Get("back").Table("back", shapeKeys()...), both)
	return l
}

func shapeKeys() []string {
	return []string{"rate", "delay", "jitter", "loss", "loss_burst", "duplicate", "reorder", "reorder_by", "mtu", "queue"}
}

// shape reads one direction; values that are not stated are those of base.
func shape(t conf.Table, base Shape) Shape {
	s := base
	for _, v := range t.All() {
		switch v.Key {
		case "rate":
			s.Rate = rate(v)
		case "delay":
			s.Delay = duration(v)
		case "jitter":
			s.Jitter = duration(v)
		case "loss":
			s.Loss = share(v)
		case "loss_burst":
			s.LossBurst = number(v)
		case "duplicate":
			s.Duplicate = share(v)
		case "reorder":
			s.Reorder = share(v)
		case "reorder_by":
			s.ReorderBy = duration(v)
		case "mtu":
			s.MTU = integer(v, 0)
		case "queue":
			s.Queue = size(v, 0)
		}
	}
	return s
}

func flow(n conf.Node) Flow {
	t := n.Table("flow", "from", "to", "via")
	f := Flow{Receiver: t.Text("to"), Via: t.Text("via")}
	for _, item := range t.Get("from").Items() {
		f.Senders = append(f.Senders, item.Text())
	}
	return f
}

func rate(n conf.Node) unit.BitRate {
	return conf.Read(n, "a rate such as 10Gbit/s", unit.ParseBitRate)
}

func duration(n conf.Node) time.Duration {
	return conf.Read(n, "a time such as 5ms", unit.ParseTime)
}

func prefix(n conf.Node) netip.Prefix {
	return conf.Read(n, "an address with its prefix length, such as 10.0.0.1/24", netip.ParsePrefix)
}

func number(n conf.Node) float64 { return conf.Read(n, "a number", parseNumber) }

func share(n conf.Node) float64 {
	return conf.Read(n, "a share such as 0.1%, from 0 to 100%", ParseShare)
}

func size(n conf.Node, otherwise unit.Bytes) unit.Bytes {
	if n.Missing() {
		return otherwise
	}
	return conf.Read(n, "a size such as 256KiB", unit.ParseBytes)
}

func integer(n conf.Node, otherwise int) int {
	if n.Missing() {
		return otherwise
	}
	return conf.Read(n, "a whole number", strconv.Atoi)
}

func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (v != v || v > 1e12 || v < 0) {
		return 0, strconv.ErrRange
	}
	return v, err
}

// ParseShare reads "0.1%" or "0.001" as 0.001; beyond 0 to 1 is an error.
func ParseShare(s string) (float64, error) {
	num, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := parseNumber(strings.TrimSpace(num))
	if percent {
		v /= 100
	}
	if err == nil && v > 1 {
		return 0, strconv.ErrRange
	}
	return v, err
}

// Bounds of times in a file.
const maxRTT = 2 * time.Second
