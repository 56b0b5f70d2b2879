package report

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// factCell prints a fact, or its state and what stood in the way.
func factCell[T any](f model.Fact[T], say func(T) string) document.Entry {
	v, ok := f.Get()
	if ok {
		return document.Entry{Text: say(v)}
	}
	text := string(cmp.Or(f.State, "absent"))
	if f.Why != "" {
		text += ": " + f.Why
	}
	return document.Entry{Text: text, Class: "missing"}
}

// hostSection is what the hosts were before anything was run.
func hostSection(r *model.Results, facts map[string]*model.Facts) document.Section {
	s := document.Section{Title: "Hosts", For: document.Papers}
	var hosts []string
	for _, h := range slices.Concat(r.Hosts, sorted(facts)) {
		if facts[h] != nil && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		s.Blocks = []document.Block{{Note: "No facts of any host were kept."}}
		return s
	}
	named := func(first string) []document.Column { return document.Columns(append([]string{first}, hosts...)...) }
	what := document.Table{Caption: "What the hosts are", Head: named("Property"), Rows: hostRows(hosts, facts)}
	nics := document.Table{Caption: "Network interfaces", Head: document.Columns("Host", "Interface", "Addresses", "#MTU", "Speed", "Driver", "Queueing", "Slot")}
	for _, h := range hosts {
		for _, n := range facts[h].NICs {
			if !loopback(n) {
				nics.Rows = append(nics.Rows, nicRow(h, n))
			}
		}
	}
	settings := document.Table{Fold: "Every setting as read at the start", Caption: "Settings as read at the start; absent, denied and unsupported are told apart",
		Head: named("Setting"), Rows: settingRows(hosts, facts, r)}
	for _, t := range []document.Table{what, nics, settings} {
		if len(t.Rows) > 0 {
			s.Add(t.Block())
		}
	}
	return s
}

// loopback tells the interface that no path of a report leads over.
func loopback(n model.NIC) bool {
	return n.Name == "lo" || len(n.Addrs) > 0 && !slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return !p.Addr().IsLoopback() })
}

func hostRows(hosts []string, facts map[string]*model.Facts) [][]document.Entry {
	text := func(name string, f func(*model.Facts) string) []document.Entry {
		row := []document.Entry{{Text: name, Class: "strong"}}
		for _, h := range hosts {
			e := document.Entry{Text: f(facts[h])}
			if e.Text == "" {
				e = document.Entry{Text: unknown, Class: "missing"}
			}
			row = append(row, e)
		}
		return row
	}
	return [][]document.Entry{
		text("Host name", func(f *model.Facts) string { return f.Hostname }),
		text("System", func(f *model.Facts) string { return strings.TrimSpace(f.OS + " " + f.Kernel) }),
		text("CPUs it may use", func(f *model.Facts) string { return cpuList(f.CPUs) }),
		text("Read as", func(f *model.Facts) string {
			if f.UID == 0 {
				return "root"
			}
			return fmt.Sprintf("user %d, without root", f.UID)
		}),
		text("Read at", func(f *model.Facts) string { return moment(f.Taken) }),
	}
}

// cpuList prints CPU numbers as ranges: "0-3, 8 (5 CPUs)".
func cpuList(cpus []int) string {
	if len(cpus) == 0 {
		return ""
	}
	cpus = slices.Sorted(slices.Values(cpus))
	return strings.ReplaceAll(unit.CPUList(cpus), ",", ", ") + " (" + unit.Count(len(cpus), "CPU") + ")"
}

func nicRow(host string, n model.NIC) []document.Entry {
	var addrs []string
	for _, a := range n.Addrs {
		addrs = append(addrs, a.String())
	}
	slot := factCell(n.PCI, func(p model.PCISlot) string {
		return fmt.Sprintf("%s, %s GT/s ×%d of %s GT/s ×%d", p.Address, sig(p.GTs), p.Lanes, sig(p.MaxGTs), p.MaxLanes)
	})
	state := map[bool]string{true: "up", false: "down"}[n.Up]
	return []document.Entry{{Text: host}, {Text: n.Name + " " + state, Sub: n.Device, Class: "strong"}, {Text: cmp.Or(strings.Join(addrs, " "), "none"), Class: "mono"},
		{Text: strconv.Itoa(n.MTU)}, factCell(n.Speed, unit.BitRate.String), factCell(n.Driver, strings.Clone), {Text: cmp.Or(n.Qdisc, "none")}, slot}
}

// settingRows are all settings of all hosts; the one that the fix is of is marked.
func settingRows(hosts []string, facts map[string]*model.Facts, r *model.Results) [][]document.Entry {
	ids := map[string]bool{}
	for _, h := range hosts {
		for id := range facts[h].Settings {
			ids[id] = true
		}
	}
	var out [][]document.Entry
	for _, id := range sorted(ids) {
		row := []document.Entry{{Text: id}}
		for _, h := range hosts {
			row = append(row, factCell(facts[h].Settings[id], strings.Clone))
		}
		for i := range row {
			if row[i].Class == "" {
				row[i].Class = "mono"
			}
			if id == r.Verdict.Fix.Setting {
				row[i].Class += " mark"
			}
		}
		out = append(out, row)
	}
	return out
}

// sorted are the keys of a map in order: output must not depend on its.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
