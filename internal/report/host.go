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
	"linerate/internal/unit"
)

// cell is one value of a table; Missing greys a reason why there is none.
type cell struct {
	Text    string
	Missing bool
}

// row is one property across hosts.
type row struct {
	Name  string
	Cells []cell
	Mark  bool // part of the fix
}

// hostTable compares hosts, one column each.
type hostTable struct {
	Hosts    []string
	Rows     []row
	NICs     []nicRow
	Settings []row
}

type nicRow struct {
	Host, Name, Device, Addrs, MTU, Up, Qdisc string
	Speed, Duplex, Driver, PCI                cell
}

// factCell prints a fact, or its state and what stood in the way.
func factCell[T any](f model.Fact[T], say func(T) string) cell {
	v, ok := f.Get()
	if ok {
		return cell{Text: say(v)}
	}
	text := string(cmp.Or(f.State, "absent"))
	if f.Why != "" {
		text += ": " + f.Why
	}
	return cell{Text: text, Missing: true}
}

func hostsOf(r *model.Results, facts map[string]*model.Facts) hostTable {
	t := hostTable{}
	for _, h := range r.Hosts {
		if facts[h] != nil {
			t.Hosts = append(t.Hosts, h)
		}
	}
	for _, h := range sorted(facts) {
		if facts[h] != nil && !slices.Contains(t.Hosts, h) {
			t.Hosts = append(t.Hosts, h)
		}
	}
	t.Rows = hostRows(t.Hosts, facts)
	for _, h := range t.Hosts {
		for _, n := range facts[h].NICs {
			if loopback(n) {
				continue
			}
			t.NICs = append(t.NICs, nicOf(h, n))
		}
	}
	t.Settings = settingRows(t.Hosts, facts, r)
	return t
}

// loopback tells the interface that no path of a report leads over.
func loopback(n model.NIC) bool {
	return n.Name == "lo" || len(n.Addrs) > 0 && !slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return !p.Addr().IsLoopback() })
}

func hostRows(hosts []string, facts map[string]*model.Facts) []row {
	text := func(name string, f func(*model.Facts) string) row {
		r := row{Name: name}
		for _, h := range hosts {
			s := f(facts[h])
			r.Cells = append(r.Cells, cell{Text: cmp.Or(s, unknown), Missing: s == ""})
		}
		return r
	}
	return []row{
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
	return strings.ReplaceAll(unit.Ranges(cpus), ",", ", ") + " (" + unit.Count(len(cpus), "CPU") + ")"
}

func nicOf(host string, n model.NIC) nicRow {
	var addrs []string
	for _, a := range n.Addrs {
		addrs = append(addrs, a.String())
	}
	same := func(s string) string { return s }
	return nicRow{Host: host, Name: n.Name, Device: n.Device, Addrs: cmp.Or(strings.Join(addrs, " "), "none"),
		MTU: strconv.Itoa(n.MTU), Up: map[bool]string{true: "up", false: "down"}[n.Up], Qdisc: cmp.Or(n.Qdisc, "none"),
		Speed: factCell(n.Speed, unit.BitRate.String), Duplex: factCell(n.Duplex, same), Driver: factCell(n.Driver, same),
		PCI: factCell(n.PCI, func(p model.PCISlot) string {
			return fmt.Sprintf("%s, %s GT/s ×%d of %s GT/s ×%d", p.Address, sig(p.GTs), p.Lanes, sig(p.MaxGTs), p.MaxLanes)
		})}
}

func settingRows(hosts []string, facts map[string]*model.Facts, r *model.Results) []row {
	ids := map[string]bool{}
	for _, h := range hosts {
		for id := range facts[h].Settings {
			ids[id] = true
		}
	}
	var out []row
	for _, id := range sorted(ids) {
		line := row{Name: id, Mark: id == r.Verdict.Fix.Setting}
		for _, h := range hosts {
			line.Cells = append(line.Cells, factCell(facts[h].Settings[id], func(s string) string { return s }))
		}
		out = append(out, line)
	}
	return out
}

// sorted are the keys of a map in order: output must not depend on its.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
