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

// veryFast is the port speed from which the placement of queues, interrupts and threads on
// cores matters.
const veryFast = 10 * unit.Gbit

// busyIRQ is the count from which an interrupt is considered in use.
const busyIRQ = 1000

// each collects the findings of check on the elements of a list.
func each[T any](list []T, check func(T) *model.Finding) []model.Finding {
	var out []model.Finding
	for _, one := range list {
		if found := check(one); found != nil {
			out = append(out, *found)
		}
	}
	return out
}

// eachNIC is each for the interfaces that are up.
func eachNIC(f *model.Facts, check func(n model.NIC) *model.Finding) []model.Finding {
	return each(f.NICs, func(n model.NIC) *model.Finding {
		if !n.Up {
			return nil
		}
		return check(n)
	})
}

// eachPort is eachNIC for physical interfaces only.
func eachPort(f *model.Facts, check func(n model.NIC) *model.Finding) []model.Finding {
	return eachNIC(f, func(n model.NIC) *model.Finding {
		if !n.Physical() {
			return nil
		}
		return check(n)
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

// counter returns a counter of an interface, and whether the driver has it.
func counter(n model.NIC, name string) (int64, bool) {
	v, ok := n.Counters.Or(nil)[name]
	return v, ok
}

// subnetPair is two interfaces with addresses of one network.
type subnetPair struct {
	a, b model.NIC
	net  netip.Prefix
}

// sameSubnet finds interfaces that are up and share a network: each of them with the first one
// of its network, since the pairs of a thousand interfaces would be half a million. Ports of a
// bridge or bond are left out: they have no addresses of their own.
func sameSubnet(f *model.Facts) []subnetPair {
	var out []subnetPair
	in := map[netip.Prefix][]*model.NIC{} // the first of a network, and the first that is no child of it
	for i := range f.NICs {
		n := &f.NICs[i]
		if !n.Up || n.Master != "" || n.Name == "lo" {
			continue
		}
		paired := map[*model.NIC]bool{}
		for _, net := range networks(n) {
			others := in[net]
			switch k := slices.IndexFunc(others, func(o *model.NIC) bool { return !byDesign(o, n) }); {
			case k >= 0 && !paired[others[k]]:
				paired[others[k]] = true
				out = append(out, subnetPair{*others[k], *n, net})
			case k < 0 && len(others) < mostKinds:
				in[net] = append(others, n)
			}
		}
	}
	return out
}

// mostKinds is how many interfaces of a network are remembered that are in it by design of each
// other: a port, its macvlan, its ipvlan.
const mostKinds = 8

// byDesign tells that one interface is in the network of the other on purpose, as a macvlan is in
// that of its parent.
func byDesign(a, b *model.NIC) bool {
	kinds := a.Kind + b.Kind
	return strings.Contains(kinds, "vlan") && strings.Contains(kinds, "mac") || strings.Contains(kinds, "ipvlan")
}

// networks are those of an interface's addresses, each once. Link-local and single-address
// networks do not count, since every interface may have them.
func networks(n *model.NIC) []netip.Prefix {
	var out []netip.Prefix
	seen := map[netip.Prefix]bool{}
	for _, p := range n.Addrs {
		if !p.IsValid() || p.Addr().IsLinkLocalUnicast() || p.IsSingleIP() || p.Bits() == 0 || seen[p.Masked()] {
			continue
		}
		seen[p.Masked()] = true
		out = append(out, p.Masked())
	}
	return out
}

// softnetSum is the sum of the counters of all cores.
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

// olderThan tells whether a kernel release is older than a version; false if the release cannot
// be parsed.
func olderThan(release string, major, minor int) bool {
	var a, b int
	if n, err := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 || err != nil {
		return false
	}
	return a < major || a == major && b < minor
}

// options are the options of a mount.
type options map[string]string

// has tells whether the option is set, with or without a value.
func (o options) has(name string) bool { _, ok := o[name]; return ok }

// number is the numeric value of an option; 0 if it is absent.
func (o options) number(name string) int64 { return decimal(o[name]) }

// decimal parses a non-negative number; anything else is 0.
func decimal(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 48)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// eachMount is each for the mounted network file systems, with their options.
func eachMount(f *model.Facts, check func(m model.NetMount, o options) *model.Finding) []model.Finding {
	return each(f.Storage, func(m model.NetMount) *model.Finding {
		i := slices.IndexFunc(f.Mounts, func(o model.Mount) bool { return o.Point == m.Point && o.Type == m.Type })
		if i < 0 {
			return nil
		}
		return check(m, f.Mounts[i].Options)
	})
}

func isNFS(m model.NetMount) bool { return m.Type == "nfs" || m.Type == "nfs4" }

func isSMB(m model.NetMount) bool {
	return m.Type == "cifs" || m.Type == "smb3" || m.Type == "smbfs" || m.Type == "smb"
}

// otherSystem tells that the host is known not to run Linux.
func otherSystem(f *model.Facts) bool { return f.OS != "" && f.OS != "linux" }

// bySystem are words for the host's system (freebsd, macos, illumos); those of "" are for Linux.
func bySystem(f *model.Facts, words map[string]string) string {
	if w, ok := words[f.OS]; ok {
		return w
	}
	return words[""]
}

// mountManual is where a mount option of NFS is described.
func mountManual(f *model.Facts, option string) string {
	return bySystem(f, map[string]string{"": "nfs(5)", "freebsd": "mount_nfs(8) of FreeBSD", "macos": "mount_nfs(8) of macOS", "illumos": "mount_nfs(8) of illumos"}) + " (" + option + ")"
}

// speedTo is the speed of the interface that leads to a mount's server; 0 if it is unknown.
func speedTo(f *model.Facts, m model.NetMount) unit.BitRate {
	if n := nicNamed(f, m.Dev); n != nil {
		return n.Speed.Or(0)
	}
	return 0
}

// pathSpeed is speedTo, or else the stated rate of the path.
func pathSpeed(f *model.Facts, c Context, m model.NetMount) unit.BitRate {
	if speed := speedTo(f, m); speed > 0 {
		return speed
	}
	return c.LineRate
}

// eachBond is each for the bonds that are up.
func eachBond(f *model.Facts, check func(n model.NIC, b model.Bond) *model.Finding) []model.Finding {
	return eachNIC(f, func(n model.NIC) *model.Finding {
		b, ok := n.Bond.Get()
		if !ok {
			return nil
		}
		return check(n, b)
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
