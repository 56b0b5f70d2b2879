package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// notThere stands for what one side does not have.
const notThere = "not there"

// changed lists what was not the same on both sides: the build, the topology,
// and of each host that both know its kernel, interfaces and settings.
func changed(a, b Side) []Difference {
	out := []Difference{}
	add := func(host, what, x, y string) {
		if x != y {
			out = append(out, Difference{host, what, cmp.Or(x, notThere), cmp.Or(y, notThere)})
		}
	}
	add("", "linerate", a.Results.Build, b.Results.Build)
	add("", "topology", a.Results.Topology, b.Results.Topology)
	add("", "baseline of the study", steps(a.Results.Study), steps(b.Results.Study))
	for _, h := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(keys(a.Facts), keys(b.Facts))))) {
		x, y := a.Facts[h], b.Facts[h]
		switch {
		case x == nil && y == nil:
		case x == nil:
			add(h, "host", "", y.Hostname)
		case y == nil:
			add(h, "host", x.Hostname, "")
		default:
			out = append(out, Hosts(h, x, y)...)
		}
	}
	return out
}

// Hosts lists what differs between two readings of a host, or of two hosts, under one name.
func Hosts(name string, a, b *model.Facts) (out []Difference) {
	host(func(what, x, y string) {
		if x != y {
			out = append(out, Difference{name, what, cmp.Or(x, notThere), cmp.Or(y, notThere)})
		}
	}, a, b)
	return out
}

func keys[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

func steps(s *model.Study) string {
	if s == nil {
		return ""
	}
	var out []string
	for _, l := range s.File.Baseline {
		text := l.Name
		for _, x := range l.Set {
			text += fmt.Sprintf(" %s of %s %s", x.Setting, x.Host, x.Value)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func host(add func(what, a, b string), a, b *model.Facts) {
	add("host name", a.Hostname, b.Hostname)
	add("kernel", strings.TrimSpace(a.OS+" "+a.Kernel), strings.TrimSpace(b.OS+" "+b.Kernel))
	add("CPUs", fmt.Sprint(len(a.CPUs)), fmt.Sprint(len(b.CPUs)))
	add("memory", said(a.Memory, unit.Bytes.String), said(b.Memory, unit.Bytes.String))
	if a.BootID != "" && b.BootID != "" && a.BootID != b.BootID {
		add("boot", a.BootID, b.BootID)
	}
	nics := func(f *model.Facts) map[string]model.NIC {
		out := map[string]model.NIC{}
		for _, n := range f.NICs {
			out[n.Name] = n
		}
		return out
	}
	na, nb := nics(a), nics(b)
	for _, name := range union(na, nb) {
		x, inA := na[name]
		y, inB := nb[name]
		if !inA || !inB {
			add("interface "+name, x.Device, y.Device)
			continue
		}
		interfaces(func(what, p, q string) { add(name+" "+what, p, q) }, x, y)
	}
	for _, id := range union(a.Settings, b.Settings) {
		add(id, setting(a, id), setting(b, id))
	}
	ma, mb := mounts(a), mounts(b)
	for _, point := range union(ma, mb) {
		add("mount "+point, ma[point], mb[point])
	}
}

// mounts are those of servers and of devices, by where they are: the others come and go with
// programs.
func mounts(f *model.Facts) map[string]string {
	out := map[string]string{}
	for _, m := range f.Mounts {
		if strings.HasPrefix(m.Source, "/dev/") || strings.Contains(m.Source, ":/") || strings.HasPrefix(m.Source, "//") {
			var options []string
			for _, k := range slices.Sorted(maps.Keys(m.Options)) {
				options = append(options, strings.TrimSuffix(k+"="+m.Options[k], "="))
			}
			out[m.Point] = m.Type + " of " + m.Source + " " + strings.Join(options, ",")
		}
	}
	return out
}

func union[V any](a, b map[string]V) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(keys(a), keys(b)))))
}

func setting(f *model.Facts, id string) string {
	v, ok := f.Settings[id]
	if !ok {
		return ""
	}
	return said(v, func(s string) string { return s })
}

func interfaces(add func(what, a, b string), a, b model.NIC) {
	same := func(s string) string { return s }
	add("MTU", fmt.Sprint(a.MTU), fmt.Sprint(b.MTU))
	add("up", fmt.Sprint(a.Up), fmt.Sprint(b.Up))
	add("queueing", a.Qdisc, b.Qdisc)
	add("speed", said(a.Speed, unit.BitRate.String), said(b.Speed, unit.BitRate.String))
	add("driver", said(a.Driver, same), said(b.Driver, same))
	add("firmware", said(a.Firmware, same), said(b.Firmware, same))
	add("slot", said(a.PCI, slot), said(b.PCI, slot))
	add("ring", said(a.Ring, ring), said(b.Ring, ring))
	add("queues", said(a.Channels, queues), said(b.Channels, queues))
	add("interrupt moderation", said(a.Coalesce, coalesce), said(b.Coalesce, coalesce))
	add("pause", said(a.Pause, pause), said(b.Pause, pause))
	fa, fb := a.Features.Value, b.Features.Value
	for _, name := range union(fa, fb) {
		x, inA := fa[name]
		y, inB := fb[name]
		if inA && inB && x != y {
			add(name, onOff(x), onOff(y))
		}
	}
}

func slot(p model.PCISlot) string {
	return fmt.Sprintf("%s, %g GT/s ×%d", p.Address, p.GTs, p.Lanes)
}
func ring(r model.Ring) string { return fmt.Sprintf("rx %d, tx %d", r.Rx, r.Tx) }
func queues(c model.Channels) string {
	return fmt.Sprintf("combined %d, rx %d, tx %d", c.Combined, c.Rx, c.Tx)
}
func pause(p model.Pause) string { return fmt.Sprintf("rx %s, tx %s", onOff(p.Rx), onOff(p.Tx)) }

func coalesce(c model.Coalesce) string {
	return fmt.Sprintf("rx %d µs, adaptive %s", c.RxUsecs, onOff(c.AdaptiveRx))
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// said is a fact's value, or why there is none; empty for one that was never
// read.
func said[T any](f model.Fact[T], say func(T) string) string {
	if v, ok := f.Get(); ok {
		return say(v)
	}
	return string(f.State)
}
