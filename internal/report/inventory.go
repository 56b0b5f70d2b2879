package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// Inventory is what the hosts have: of each interface that is up or is hardware its link,
// slot, rings, queues, interrupts and offloads, of the switch port behind it what the switch
// told, and of each disk its queue. What could not
// be read is there with the reason.
func (c Check) Inventory() document.Document {
	d := document.Document{Title: "linerate check --inventory", Headline: "What these hosts have", Labels: 11}
	if len(c.Hosts) == 1 {
		d.Headline = "What this host has"
	}
	for _, h := range c.Hosts {
		d.Title += " " + h.Name
		s := document.Section{Title: h.Name}
		if h.Error != "" || h.Facts == nil {
			s.Add(document.Block{Text: "Not looked at: " + h.Error})
			d.Sections = append(d.Sections, s)
			continue
		}
		s.Add(document.Block{Note: h.About()})
		for _, n := range h.Facts.NICs {
			if n.Name != "lo" && (n.Up || n.Physical()) {
				s.Add(document.Block{Card: nicCard(n)})
			}
		}
		for _, p := range h.Facts.Switches {
			s.Add(document.Block{Card: switchCard(p)})
		}
		if len(h.Facts.Disks) > 0 {
			s.Add(diskTable(h.Facts.Disks).Block())
		}
		d.Sections = append(d.Sections, s)
	}
	return d
}

// nicCard is an interface with all that is known of it.
func nicCard(n model.NIC) *document.Card {
	state := "down"
	if n.Up {
		state = "up"
	}
	c := &document.Card{Class: "setting", Title: n.Name, Text: fmt.Sprintf("%s, MTU %d", state, n.MTU)}
	add := func(name, value string) {
		if value != "" {
			c.Pairs = append(c.Pairs, pair(name, value))
		}
	}
	add("kind", n.Kind)
	add("part of", n.Master)
	var addrs []string
	for _, a := range n.Addrs {
		addrs = append(addrs, a.String())
	}
	add("addresses", strings.Join(addrs, ", "))
	add("link", known(n.Speed, unit.BitRate.String)+duplexOf(n))
	add("could be", known(n.Modes, modeWords))
	add("FEC", known(n.FEC, plain))
	add("flow control", known(n.Pause, pauseWords))
	add("driver", known(n.Driver, plain)+after(", firmware ", n.Firmware.Or("")))
	add("slot", known(n.PCI, slotWords))
	add("rings", known(n.Ring, func(r model.Ring) string {
		return fmt.Sprintf("rx %d of %d, tx %d of %d", r.Rx, r.RxMax, r.Tx, r.TxMax)
	}))
	add("queues", known(n.Channels, func(q model.Channels) string {
		return fmt.Sprintf("%d of %d that receive", q.Receive(), q.ReceiveMax())
	}))
	add("interrupts", known(n.IRQs, irqWords))
	add("coalescing", known(n.Coalesce, coalesceWords))
	on, off := features(n.Features)
	add("offloads on", on)
	add("offloads off", off)
	add("queueing", n.Qdisc)
	return c
}

// known words a fact, or why there is none.
func known[T any](f model.Fact[T], words func(T) string) string {
	if v, ok := f.Get(); ok {
		return words(v)
	}
	state := map[model.State]string{model.Absent: "not read", model.Unsupported: "the driver does not tell", model.Denied: "denied"}[f.State]
	if f.State == model.Denied {
		return state + after(": ", f.Why)
	}
	return cmp.Or(f.Why, state, string(f.State))
}

func plain(s string) string { return s }

func after(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

func duplexOf(n model.NIC) string { return after(", duplex ", n.Duplex.Or("")) }

func modeWords(m model.LinkModes) string {
	s := "speeds not told"
	if m.Supported > 0 {
		s = m.Supported.String()
	}
	if m.Advertised > 0 {
		s += ", advertised " + m.Advertised.String()
	}
	if m.Peer > 0 {
		s += ", the other side " + m.Peer.String()
	}
	if !m.Autoneg {
		s += ", no autonegotiation"
	}
	return s
}

func pauseWords(p model.Pause) string {
	word := map[bool]string{false: "off", true: "on"}
	return fmt.Sprintf("rx %s, tx %s, autonegotiation %s", word[p.Rx], word[p.Tx], word[p.Autoneg])
}

func slotWords(p model.PCISlot) string {
	if p.Tunnel {
		return p.Address + ", through Thunderbolt or USB4"
	}
	return fmt.Sprintf("%s, %g GT/s × %d of %g GT/s × %d", p.Address, p.GTs, p.Lanes, p.MaxGTs, p.MaxLanes)
}

func coalesceWords(c model.Coalesce) string {
	words := func(adaptive bool, usecs, frames int) string {
		if adaptive {
			return "adaptive"
		}
		return fmt.Sprintf("%d µs or %d frames", usecs, frames)
	}
	return "rx " + words(c.AdaptiveRx, c.RxUsecs, c.RxFrames) + ", tx " + words(c.AdaptiveTx, c.TxUsecs, c.TxFrames)
}

func irqWords(irqs []model.IRQ) string {
	var cpus []int
	for _, i := range irqs {
		cpus = append(cpus, i.CPUs...)
	}
	if len(cpus) == 0 {
		return unit.Count(len(irqs), "interrupt")
	}
	return unit.Count(len(irqs), "interrupt") + " on CPUs " + unit.CPUList(cpus)
}

// features are those that carry data, by the kernel's names.
func features(f model.Fact[map[string]bool]) (on, off string) {
	all, ok := f.Get()
	if !ok {
		return known(f, func(map[string]bool) string { return "" }), ""
	}
	var list [2][]string
	for name, enabled := range all {
		i := 1
		if enabled {
			i = 0
		}
		list[i] = append(list[i], name)
	}
	slices.Sort(list[0])
	slices.Sort(list[1])
	return strings.Join(list[0], ", "), strings.Join(list[1], ", ")
}

func diskTable(disks []model.Disk) *document.Table {
	t := &document.Table{Head: document.Columns("Disk", "Scheduler", "#Read-ahead", "#Requests", "#Largest request")}
	for _, d := range disks {
		t.Row(d.Name, known(d.Scheduler, plain), known(d.Ahead, unit.Bytes.String), known(d.Requests, func(n int) string { return fmt.Sprint(n) }), known(d.MaxRequest, unit.Bytes.String))
	}
	return t
}
