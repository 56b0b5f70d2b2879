package topology

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// Entry is a topology as `lab topologies --json` lists it.
type Entry struct {
	Name  string      `json:"name"`
	Title string      `json:"title"`
	Paper string      `json:"paper"`
	Hosts []EntryHost `json:"hosts"`
	Links []EntryLink `json:"links"`
}

// EntryHost is a host of an Entry.
type EntryHost struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
}

// EntryLink is a link of an Entry, in the direction from a to b.
type EntryLink struct {
	ID    string  `json:"id"`
	A     string  `json:"a"`
	B     string  `json:"b"`
	Rate  float64 `json:"rate_bps"`
	Delay int64   `json:"delay_ns"` // one way
	MTU   int     `json:"mtu"`      // the largest packet that it carries
}

// JSON is t as `lab topologies --json` lists it.
func JSON(t Topology) Entry {
	e := Entry{Name: t.Name, Title: t.Title, Paper: t.Paper}
	for _, h := range t.Hosts {
		e.Hosts = append(e.Hosts, EntryHost{h.Name, h.Kind})
	}
	for _, l := range t.Links {
		e.Links = append(e.Links, EntryLink{l.ID, l.A.String(), l.B.String(), float64(l.AB.Rate), l.AB.Delay.Nanoseconds(), t.linkMTU(l)})
	}
	return e
}

// linkMTU is the smallest MTU of the ends and the link itself.
func (t Topology) linkMTU(l Link) int {
	var mtus []int
	for _, e := range []End{l.A, l.B} {
		if i, ok := t.Interface(e.Node, e.Interface); ok {
			mtus = append(mtus, i.MTU)
		}
		for _, s := range t.Switches {
			if s.Name == e.Node {
				mtus = append(mtus, s.MTU)
			}
		}
	}
	if l.AB.MTU > 0 {
		mtus = append(mtus, l.AB.MTU)
	}
	return slices.Min(mtus)
}

// Text is the drawing for a terminal: a line per link, and the flow.
func Text(t Topology) string {
	var b strings.Builder
	width := 0
	for _, l := range t.Links {
		width = max(width, len(t.endText(l.A)))
	}
	for _, l := range t.Links {
		fmt.Fprintf(&b, "  %-*s ── %s ── %s\n", width, t.endText(l.A), speed(l), t.endText(l.B))
	}
	rate, rtt, mtu := t.Ceiling(t.Flow.Senders[0], t.Flow.Receiver, t.Flow.Via)
	fmt.Fprintf(&b, "  data: %s → %s.%s, at most %s, RTT %s, MTU %d\n", strings.Join(t.Flow.Senders, ", "), t.Flow.Receiver, t.Flow.Via, rate, rtt, mtu)
	return b.String()
}

func (t Topology) endText(e End) string {
	if i, ok := t.Interface(e.Node, e.Interface); ok {
		return fmt.Sprintf("%s %s", e, i.Addr)
	}
	for _, s := range t.Switches {
		if s.Name == e.Node {
			return fmt.Sprintf("%s (switch, MTU %d)", s.Name, s.MTU)
		}
	}
	return e.String()
}

// speed is the text of a link's rate and RTT.
func speed(l Link) string {
	out := l.AB.Rate.String()
	if l.BA.Rate != l.AB.Rate {
		out += " / " + l.BA.Rate.String()
	}
	if rtt := l.AB.Delay + l.BA.Delay; rtt > 0 {
		out += ", " + short(rtt)
	}
	return out
}

func short(d time.Duration) string { return strings.Replace(d.String(), "µs", " µs", 1) }

// Sizes of the drawing, in pixels.
const (
	boxWidth  = 150
	boxHeight = 46
	rowStep   = 84
	colStep   = 320
	margin    = 24
	titleRoom = 44
)

// drawn is a node of the drawing.
type drawn struct {
	name   string
	lines  []string // beneath the name
	x, y   int      // of the centre
	rounds bool     // a switch
	column int
}

// SVG draws the topology: senders on the left, the receiver on the right, switches and routers
// between them. The image loads nothing and is readable on light and dark pages.
func SVG(t Topology) []byte {
	nodes, width, height := t.layout()
	at := map[string]*drawn{}
	for _, n := range nodes {
		at[n.name] = n
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#fbfcfd" stroke="#d5dce3"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text x="%d" y="28" font-size="15" font-weight="bold" fill="#24303c">%s</text>`+"\n", margin, html.EscapeString(t.Name+": "+t.Title))
	var labels strings.Builder // above all else
	for _, l := range t.Links {
		drawLink(&b, &labels, t, l, at)
	}
	for _, n := range nodes {
		drawNode(&b, n)
	}
	b.WriteString(labels.String())
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func drawLink(b, labels *strings.Builder, t Topology, l Link, at map[string]*drawn) {
	from, to := at[l.A.Node], at[l.B.Node]
	if from.column > to.column {
		from, to = to, from
	}
	colour, thick := "#8a97a5", 2
	if t.onFlow(l) {
		colour, thick = "#1f6fb2", 3
	}
	x1, x2 := from.x+boxWidth/2, to.x-boxWidth/2
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="%d"/>`+"\n", x1, from.y, x2, to.y, colour, thick)
	// The label is placed nearer to the end that has fewer lines.
	share := 0.45
	if to.column-from.column > 1 || len(t.Links) == 1 {
		share = 0.5
	}
	if degree(t, from.name) > degree(t, to.name) {
		share = 1 - share
	}
	x, y := float64(x1)+share*float64(x2-x1), float64(from.y)+share*float64(to.y-from.y)
	label := speed(l)
	room := 6.4*float64(len([]rune(label))) + 8
	fmt.Fprintf(labels, `<rect x="%.0f" y="%.0f" width="%.0f" height="16" fill="#fbfcfd"/><text x="%.0f" y="%.0f" text-anchor="middle" fill="#4a5865">%s</text>`+"\n", x-room/2, y-8, room, x, y+4, html.EscapeString(label))
}

func degree(t Topology, node string) (n int) {
	for _, l := range t.Links {
		if l.A.Node == node || l.B.Node == node {
			n++
		}
	}
	return n
}

// onFlow reports whether the data of the flow crosses the link.
func (t Topology) onFlow(l Link) bool {
	for _, s := range t.Flow.Senders {
		hops, _ := t.Path(s, t.Flow.Receiver, t.Flow.Via)
		for _, h := range hops {
			if h.Link.ID == l.ID {
				return true
			}
		}
	}
	return false
}

func drawNode(b *strings.Builder, n *drawn) {
	height := boxHeight + 14*max(0, len(n.lines)-1)
	fill, radius := "#e8f0f8", 6
	if n.rounds {
		fill, radius = "#f3ecdd", boxHeight/2
	}
	top := n.y - height/2
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d" fill="%s" stroke="#5b6b7b"/>`+"\n", n.x-boxWidth/2, top, boxWidth, height, radius, fill)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" font-weight="bold" fill="#24303c">%s</text>`+"\n", n.x, top+19, html.EscapeString(n.name))
	for i, line := range n.lines {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle" font-size="10.5" fill="#4a5865">%s</text>`+"\n", n.x, top+34+14*i, html.EscapeString(line))
	}
}

// layout places the nodes in columns: hosts, switches, routers, the receiver.
func (t Topology) layout() (nodes []*drawn, width, height int) {
	for _, h := range t.Hosts {
		n := &drawn{name: h.Name}
		for _, i := range h.Interfaces {
			n.lines = append(n.lines, fmt.Sprintf("%s %s", i.Name, i.Addr))
		}
		switch {
		case h.Name == t.Flow.Receiver:
			n.column = 3
		case h.Forward:
			n.column = 2
		}
		nodes = append(nodes, n)
	}
	for _, s := range t.Switches {
		nodes = append(nodes, &drawn{name: s.Name, lines: []string{fmt.Sprintf("switch, MTU %d", s.MTU)}, rounds: true, column: 1})
	}
	columns := compact(nodes)
	rows := 1
	for _, c := range columns {
		rows = max(rows, len(c))
	}
	height = titleRoom + rows*rowStep + margin
	for i, c := range columns {
		for j, n := range c {
			n.x = margin + boxWidth/2 + i*colStep
			n.y = titleRoom + (2*j+1)*(rows*rowStep)/(2*len(c))
		}
	}
	t.besideSwitches(nodes)
	width = 2*margin + boxWidth + (len(columns)-1)*colStep
	return nodes, max(width, 480), height
}

// besideSwitches moves each router to the height of its switch, out of the way of other lines.
func (t Topology) besideSwitches(nodes []*drawn) {
	at := map[string]*drawn{}
	for _, n := range nodes {
		at[n.name] = n
	}
	for _, h := range t.Hosts {
		for _, l := range t.Links {
			if h.Forward && l.A.Node == h.Name && at[l.B.Node].rounds {
				at[h.Name].y = at[l.B.Node].y
			}
		}
	}
}

// compact drops empty columns and groups the nodes by the remaining ones.
func compact(nodes []*drawn) [][]*drawn {
	var out [][]*drawn
	for want := range 4 {
		var c []*drawn
		for _, n := range nodes {
			if n.column == want {
				c = append(c, n)
			}
		}
		if len(c) > 0 {
			out = append(out, c)
		}
	}
	for i, c := range out {
		for _, n := range c {
			n.column = i
		}
	}
	return out
}
