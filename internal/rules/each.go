package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// veryFast is the speed from which queues, interrupts and cores have to be
// placed with care.
const veryFast = 10 * unit.Gbit

// busyIRQ is how often an interrupt must have come to count as used.
const busyIRQ = 1000

// eachNIC collects what look finds of the interfaces that are up.
func eachNIC(f *model.Facts, look func(n model.NIC) *model.Finding) []model.Finding {
	var out []model.Finding
	for _, n := range f.NICs {
		if !n.Up {
			continue
		}
		if found := look(n); found != nil {
			out = append(out, *found)
		}
	}
	return out
}

// eachPort is eachNIC for hardware alone.
func eachPort(f *model.Facts, look func(n model.NIC) *model.Finding) []model.Finding {
	return eachNIC(f, func(n model.NIC) *model.Finding {
		if !n.Physical() {
			return nil
		}
		return look(n)
	})
}

// fastest is the highest speed of a port that is up; 0 if none is known.
func fastest(f *model.Facts) unit.BitRate {
	var most unit.BitRate
	for _, n := range f.NICs {
		if n.Up && n.Physical() {
			most = max(most, n.Speed.Or(0))
		}
	}
	return most
}

// counter is a counter of an interface, and whether the driver has it.
func counter(n model.NIC, name string) (int64, bool) {
	v, ok := n.Counters.Or(nil)[name]
	return v, ok
}

// subnetPair is two interfaces with addresses of one network.
type subnetPair struct {
	a, b model.NIC
	net  netip.Prefix
}

// sameSubnet finds interfaces that are up and share a network, ports of a
// bridge or bond left out: those have no addresses of their own.
func sameSubnet(f *model.Facts) []subnetPair {
	var out []subnetPair
	for i, a := range f.NICs {
		for _, b := range f.NICs[i+1:] {
			// A macvlan is meant to be in the subnet of its parent.
			if strings.Contains(a.Kind+b.Kind, "vlan") && strings.Contains(a.Kind+b.Kind, "mac") || strings.Contains(a.Kind+b.Kind, "ipvlan") {
				continue
			}
			if !a.Up || !b.Up || a.Master != "" || b.Master != "" || a.Name == "lo" || b.Name == "lo" {
				continue
			}
			if net, ok := shared(a, b); ok {
				out = append(out, subnetPair{a, b, net})
			}
		}
	}
	return out
}

// shared is a network that both have an address in. Link-local networks and
// those of a single address are on every interface.
func shared(a, b model.NIC) (netip.Prefix, bool) {
	for _, p := range a.Addrs {
		if !p.IsValid() || p.Addr().IsLinkLocalUnicast() || p.IsSingleIP() || p.Bits() == 0 {
			continue
		}
		same := func(q netip.Prefix) bool { return q.IsValid() && q.Masked() == p.Masked() }
		if slices.ContainsFunc(b.Addrs, same) {
			return p.Masked(), true
		}
	}
	return netip.Prefix{}, false
}

// softnetSum adds up the cores.
func softnetSum(cores []model.Softnet) model.Softnet {
	var sum model.Softnet
	for _, s := range cores {
		sum.Processed += s.Processed
		sum.Dropped += s.Dropped
		sum.Squeezed += s.Squeezed
	}
	return sum
}

// setting returns a setting by its id, and false when it could not be read.
func setting(f *model.Facts, id string) (string, bool) { return f.Settings[id].Get() }

// olderThan compares a kernel release with a version; one that cannot be read
// is not older.
func olderThan(release string, major, minor int) bool {
	var a, b int
	if n, err := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 || err != nil {
		return false
	}
	return a < major || a == major && b < minor
}

// options are those of a mount.
type options map[string]string

// has tells whether an option is there, with or without a value.
func (o options) has(name string) bool { _, ok := o[name]; return ok }

// number is an option's number; 0 where there is none.
func (o options) number(name string) int64 { return decimal(o[name]) }

// decimal reads a number that is not negative; anything else is 0.
func decimal(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 48)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// eachMount collects what look finds of the mounted network file systems, each
// with its options.
func eachMount(f *model.Facts, look func(m model.NetMount, o options) *model.Finding) []model.Finding {
	var out []model.Finding
	for _, m := range f.Storage {
		i := slices.IndexFunc(f.Mounts, func(o model.Mount) bool { return o.Point == m.Point && o.Type == m.Type })
		if i < 0 {
			continue
		}
		if found := look(m, f.Mounts[i].Options); found != nil {
			out = append(out, *found)
		}
	}
	return out
}

func isNFS(m model.NetMount) bool { return m.Type == "nfs" || m.Type == "nfs4" }

func isSMB(m model.NetMount) bool { return m.Type == "cifs" || m.Type == "smb3" }

// speedTo is the speed of the interface that leads to a mount's server; 0 where
// it is not known.
func speedTo(f *model.Facts, m model.NetMount) unit.BitRate {
	if n := nicNamed(f, m.Dev); n != nil {
		return n.Speed.Or(0)
	}
	return 0
}

// pathSpeed is speedTo, or else the rate that the path is said to have.
func pathSpeed(f *model.Facts, c Context, m model.NetMount) unit.BitRate {
	if speed := speedTo(f, m); speed > 0 {
		return speed
	}
	return c.LineRate
}

// eachBond collects what look finds of the bonds that are up.
func eachBond(f *model.Facts, look func(n model.NIC, b model.Bond) *model.Finding) []model.Finding {
	return eachNIC(f, func(n model.NIC) *model.Finding {
		b, ok := n.Bond.Get()
		if !ok {
			return nil
		}
		return look(n, b)
	})
}

func isLACP(b model.Bond) bool { return strings.Contains(b.Mode, "802.3ad") }

func upPorts(b model.Bond) int {
	n := 0
	for _, p := range b.Ports {
		if p.Up {
			n++
		}
	}
	return n
}

func fastestPort(b model.Bond) unit.BitRate {
	var most unit.BitRate
	for _, p := range b.Ports {
		if p.Up {
			most = max(most, p.Speed)
		}
	}
	return most
}

// eachDisk collects what look finds of the disks.
func eachDisk(f *model.Facts, look func(d model.Disk) *model.Finding) []model.Finding {
	var out []model.Finding
	for _, d := range f.Disks {
		if found := look(d); found != nil {
			out = append(out, *found)
		}
	}
	return out
}
