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

// recommendation lists the settings to apply: only those with a proved gain.
func (w *paperWriter) recommendation() document.Section {
	s := document.Section{Title: "Recommended settings"}
	if len(w.s.Recommended) == 0 {
		why := "No setting earned a recommendation: a gain of the primary outcome, after correction for all changes that were tried, is what it takes."
		s.Add(document.Block{Text: why})
		return s
	}
	t := document.Table{Caption: "Recommended configuration. Only what earned it is listed: a gain on " + w.s.Primary + " that stands after correction for all changes tried.",
		Head: document.Columns("Setting", "Host", "Default", "Before", "Recommended", "#Gain", "#Interval", "#n", "Why")}
	for _, a := range w.s.Recommended {
		gain, ci, n := "", "", ""
		if c, ok := w.earned(a); ok {
			gain, ci, n = change(c.Ratio), interval(c.CILow, c.CIHigh, change), fmt.Sprint(c.N)
			if ci == "" {
				ci = "none: of protocol " + w.s.Protocol
			}
		}
		t.Rows = append(t.Rows, []document.Entry{settingEntry(a), {Text: a.Host}, valueEntry(a.Default), valueEntry(a.Before),
			{Text: a.Value, Class: "mono strong"}, {Text: gain, Class: "strong"}, {Text: ci}, {Text: n}, {Text: a.Why, Sub: a.Factor}})
	}
	state := "Every change of the study was put back: none of these is in force by it. To apply them: linerate tune."
	switch {
	case w.s.Ended == model.StudyNotOver:
		state = "The study is not over: some of its changes may be in force."
	case !w.s.Restored:
		state = "NOT every change of the study was put back: see what was changed."
	}
	t.Notes = []string{"Default is the kernel's own value, Before what was found when the study began. " + state}
	s.Add(t.Block())
	return s
}

// earned returns the comparison that a recommendation is based on.
func (w *paperWriter) earned(a model.StudyAdvice) (model.StudyComparison, bool) {
	for _, c := range byRatio(with(primaries(w.s), model.StudyGain)) {
		if c.Factor != a.Factor {
			continue
		}
		l, ok := levelOf(w.s, state{c.Factor, c.Level})
		if !ok || a.Instruct != "" && l.Instruct == a.Instruct {
			return c, true
		}
		for _, set := range l.Set {
			if set.Host == a.Host && set.Setting == a.Setting && set.Target == a.Target && set.Value == a.Value {
				return c, true
			}
		}
	}
	return model.StudyComparison{}, false
}

func settingEntry(a model.StudyAdvice) document.Entry {
	if a.Setting == "" {
		return document.Entry{Text: a.Instruct}
	}
	return document.Entry{Text: a.Setting, Sub: a.Target, Class: "mono"}
}

func valueEntry(v string) document.Entry {
	if v == "" {
		return document.Entry{Text: unknown, Class: "missing"}
	}
	return document.Entry{Text: v, Class: "mono"}
}

// setup draws the hosts and lists what each setting was.
func (w *paperWriter) setup() document.Section {
	s := document.Section{Title: "Set-up"}
	v := w.drawn()
	s.Add(document.Block{Setup: &v}, document.Block{Note: "Hosts and interfaces as they were found, before the steps of the baseline."})
	if t, ok := w.settingTable(); ok {
		s.Add(t.Block())
	}
	return s
}

func (w *paperWriter) drawn() document.Setup {
	left, right := w.roles()
	v := document.Setup{Wire: w.r.Topology, Role: [2]string{"sends", "receives"}, Alone: len(right) == 0}
	for _, h := range left {
		v.Left = append(v.Left, w.card(h))
	}
	for _, h := range right {
		v.Right = append(v.Right, w.card(h))
	}
	if rtt, n := w.rtt(); n > 0 {
		text := "least round trip " + duration(rtt)
		if v.Wire == "" {
			v.Wire = text
		} else {
			v.Wire += ", " + text
		}
	}
	return v
}

// roles are the hosts by what they do in the first workload that moves data
// between hosts; the others stand on the left.
func (w *paperWriter) roles() (left, right []string) {
	for _, l := range w.s.File.Workloads {
		for _, h := range l.Receivers {
			if !slices.Contains(right, h) && !slices.Contains(left, h) {
				right = append(right, h)
			}
		}
		for _, h := range slices.Concat(l.Senders, l.Hosts) {
			if !slices.Contains(right, h) && !slices.Contains(left, h) {
				left = append(left, h)
			}
		}
	}
	for _, h := range sorted(w.s.File.Hosts) {
		if !slices.Contains(left, h) && !slices.Contains(right, h) {
			left = append(left, h)
		}
	}
	return left, right
}

// factsOf finds a host's facts by its name in the file or by how it is reached,
// with or without the user that it is reached as or the lab or site that it is in.
func (w *paperWriter) factsOf(host string) *model.Facts {
	reach := w.s.File.Hosts[host]
	_, address, _ := strings.Cut(reach, "@")
	_, within, _ := strings.Cut(reach, ":") // of a lab or a site, which may have a name
	for _, name := range []string{host, reach, address, within, within[strings.LastIndex(within, "/")+1:]} {
		if f := w.facts[name]; f != nil {
			return f
		}
	}
	return nil
}

// maxNICs is how many interfaces the drawing lists for a host; the table of hosts has all.
const maxNICs = 3

func (w *paperWriter) card(host string) document.Host {
	c := document.Host{Name: host, Reach: w.s.File.Hosts[host]}
	f := w.factsOf(host)
	if f == nil {
		c.System = "no facts of it were kept"
		return c
	}
	c.System = strings.TrimSpace(f.OS + " " + f.Kernel)
	c.CPU = unit.Count(len(f.CPUs), "CPU")
	if nodes, ok := f.CPU.Nodes.Get(); ok && len(nodes) > 1 {
		c.CPU += fmt.Sprintf(" in %d NUMA nodes", len(nodes))
	}
	if m, ok := f.Memory.Get(); ok {
		c.CPU += ", " + m.String() + " of memory"
	}
	more := 0
	for _, n := range f.NICs {
		if loopback(n) || !n.Up {
			continue
		}
		if len(c.NICs) == maxNICs {
			more++
			continue
		}
		c.NICs = append(c.NICs, nicCardOf(n))
	}
	if more > 0 {
		c.NICs = append(c.NICs, document.NIC{Name: fmt.Sprintf("and %d more", more)})
	}
	return c
}

func nicCardOf(n model.NIC) document.NIC {
	c := document.NIC{Name: n.Name, MTU: fmt.Sprintf("MTU %d", n.MTU), Speed: "speed " + unknown}
	if v, ok := n.Speed.Get(); ok {
		c.Speed = v.String()
	}
	if d, ok := n.Driver.Get(); ok {
		c.Name += " (" + d + ")"
	}
	if p, ok := n.PCI.Get(); ok {
		c.Slot = fmt.Sprintf("PCIe %s GT/s ×%d", sig(p.GTs), p.Lanes)
		if p.GTs < p.MaxGTs || p.Lanes < p.MaxLanes {
			c.Slot += fmt.Sprintf(" of %s GT/s ×%d", sig(p.MaxGTs), p.MaxLanes)
		}
		c.Slot += ", slot " + p.Address
	}
	if node, ok := n.NUMA.Get(); ok && node >= 0 {
		c.Slot = strings.TrimPrefix(c.Slot+fmt.Sprintf(", NUMA node %d", node), ", ")
	}
	return c
}

// settingKey is one setting of one device of one host.
type settingKey struct{ host, setting, target string }

// settingTable lists every setting of the study: default, before, in the baseline, tried,
// recommended.
func (w *paperWriter) settingTable() (document.Table, bool) {
	t := document.Table{Caption: "Settings of the study: the kernel's default, what was found, what the baseline had, what was tried, what is recommended",
		Head: document.Columns("Setting", "Host", "Default", "Before", "Baseline", "Tried", "Recommended")}
	known := map[settingKey]model.StudyAdvice{}
	for _, a := range slices.Concat(w.s.Reverted, w.s.Recommended) {
		known[settingKey{a.Host, a.Setting, a.Target}] = a
	}
	base, tried, order := map[settingKey]string{}, map[settingKey][]string{}, []settingKey(nil)
	note := func(x model.StudySetting) settingKey {
		k := settingKey{x.Host, x.Setting, x.Target}
		if !slices.Contains(order, k) {
			order = append(order, k)
		}
		return k
	}
	for _, l := range w.s.File.Baseline {
		for _, x := range l.Set {
			base[note(x)] = x.Value
		}
	}
	for _, f := range w.s.File.Factors {
		for _, l := range f.Levels {
			for _, x := range l.Set {
				k := note(x)
				tried[k] = append(tried[k], x.Value)
			}
		}
	}
	for _, k := range order {
		a, ok := known[k]
		if !ok && k.target == "" {
			a = w.resolved(k)
		}
		before := cmp.Or(a.Before, w.read(k))
		rec := document.Entry{Text: "as it was"}
		for _, r := range w.s.Recommended {
			if k.host == r.Host && k.setting == r.Setting && (k.target == r.Target || k.target == "") {
				if rec.Class != "" {
					r.Value = rec.Text + "; " + r.Value
				}
				rec = document.Entry{Text: r.Value, Class: "mono strong"}
			}
		}
		t.Rows = append(t.Rows, []document.Entry{{Text: k.setting, Sub: k.target, Class: "mono"}, {Text: k.host}, valueEntry(a.Default), valueEntry(before),
			valueEntry(cmp.Or(base[k], before)), {Text: strings.Join(tried[k], "; "), Class: "mono"}, rec})
	}
	return t, len(order) > 0
}

// resolved returns what was written for a setting whose device the file did not name; empty if
// several devices were written.
func (w *paperWriter) resolved(k settingKey) model.StudyAdvice {
	var out model.StudyAdvice
	for _, a := range w.s.Reverted {
		if a.Host != k.host || a.Setting != k.setting || a.Target == "" {
			continue
		}
		if out.Target != "" && out.Target != a.Target {
			return model.StudyAdvice{}
		}
		if out.Target == "" { // the first write has the value that was found
			out = a
		}
	}
	return out
}

// read is the value that was read before the study; empty: not known.
func (w *paperWriter) read(k settingKey) string {
	f := w.factsOf(k.host)
	if f == nil {
		return ""
	}
	v, _ := f.Settings[k.setting].Get()
	return v
}

// rtt is the minimum RTT of all connections of all runs, with the number of readings.
func (w *paperWriter) rtt() (least model.Nanos, n int) {
	for _, byHost := range w.samples {
		for _, samples := range byHost {
			for _, s := range samples {
				for _, c := range s.Conns {
					if c.MinRTT <= 0 {
						continue
					}
					if n == 0 || c.MinRTT < least {
						least = c.MinRTT
					}
					n++
				}
			}
		}
	}
	return least, n
}

// workloadLine says in one line what a workload does.
func workloadLine(l model.StudyWorkload) string {
	var parts []string
	switch l.Kind {
	case "tcp":
		parts = append(parts, "TCP from memory to memory, "+strings.Join(l.Senders, ", ")+" → "+strings.Join(l.Receivers, ", "))
		if l.Clients > 0 {
			parts = append(parts, fmt.Sprintf("%d of them at once", l.Clients))
		}
		parts = append(parts, unit.Count(max(1, l.Streams), "stream")+" each")
	case "frames":
		does := "records"
		if l.Play {
			does = "plays"
		}
		parts = append(parts, fmt.Sprintf("%s %s of %s at %s frames per second below %s of %s", does, unit.Count(l.Streams, "stream"), l.Format, l.FPS, l.Path, strings.Join(l.Hosts, ", ")),
			unit.Count(l.Buffer, "frame")+" buffered")
	case "copy":
		parts = append(parts, fmt.Sprintf("copies %s of %s to a new directory below %s of %s", l.Path, strings.Join(l.Senders, ", "), l.To, strings.Join(l.Receivers, ", ")))
		if l.Streams > 0 {
			parts = append(parts, unit.Count(l.Streams, "stream"))
		}
	case "read":
		parts = append(parts, "reads "+l.Path+" in order on "+strings.Join(l.Hosts, ", "))
	default:
		parts = append(parts, cmp.Or(l.Pattern, l.Kind)+" on "+l.Path+" of "+strings.Join(l.Hosts, ", "), fmt.Sprintf("%d%% reads", l.Read))
	}
	add := func(on bool, text string) {
		if on {
			parts = append(parts, text)
		}
	}
	add(l.Clients > 0 && l.Kind != "tcp", fmt.Sprintf("%d of them at once", l.Clients))
	add(l.Block > 0 && l.Mix == "", "blocks of "+l.Block.String())
	add(l.Mix != "", "blocks of "+l.Mix+" (size/percent)")
	add(l.Depth > 0, fmt.Sprintf("depth %d", l.Depth))
	add(l.Threads > 0, unit.Count(l.Threads, "thread"))
	add(l.Direct, "past the page cache")
	add(l.Plain, "not encrypted")
	add(l.Full, "the target read again")
	add(l.PerFrame, "a file for each frame")
	add(l.Congestion != "", "congestion control "+l.Congestion)
	add(l.RecvBuffer > 0, "receive buffer "+l.RecvBuffer.String())
	add(l.SendBuffer > 0, "send buffer "+l.SendBuffer.String())
	add(l.WriteSize > 0, "writes of "+l.WriteSize.String())
	add(l.Exchange > 0, "requests of "+l.Exchange.String()+" that wait for their answer")
	add(l.NoDelay, "Nagle's algorithm off")
	add(l.Rate > 0, "limited to "+unit.BitRate(l.Rate).String())
	return strings.Join(parts, ", ")
}
