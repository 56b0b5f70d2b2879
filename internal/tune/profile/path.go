package profile

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// PathTo is the path from a host to an address, with what the other end's facts show of its port;
// peer is nil for a host whose facts were not read. The caller fills in the round trip.
func PathTo(f *model.Facts, to netip.Addr, name string, peer *model.Facts) Path {
	p := Path{Peer: name}
	if r, ok := f.RouteTo(to); ok {
		p.Dev, p.Route = r.Dev, RouteTarget(f, r)
	}
	own := named(f, p.Dev)
	p.take(own, "this end's")
	far := withAddr(peer, to)
	if far == nil {
		if p.Rate > 0 {
			p.RateFrom += "; the other end was not looked at"
		}
		return p
	}
	p.PeerMTU = far.MTU
	if rate := rules.PortRate(*far); rate > 0 && (p.Rate == 0 || rate < p.Rate) {
		p.take(far, name+"'s")
	}
	return p
}

// take records the rate of a port.
func (p *Path) take(n *model.NIC, whose string) {
	if n == nil {
		return
	}
	if rate := rules.PortRate(*n); rate > 0 {
		p.Rate, p.RateFrom = rate, whose+" "+n.Name
	}
}

// PathOf is the path of a host's own storage connections, which show both the interface and the
// smallest round trip. Without such connections it is the only interface that can carry data, if
// there is just one.
func PathOf(f *model.Facts) Path {
	if c, m := rules.StoragePath(f); m != nil {
		return Path{
			Peer: m.Server.String(), Dev: m.Dev, Rate: c.LineRate, RateFrom: "this end's " + m.Dev + "; the other end was not looked at",
			RTT: c.RTT, RTTFrom: "the smallest that the connections of " + m.Point + " saw",
		}
	}
	if p, ok := sessionPath(f); ok {
		return p
	}
	p := Path{}
	if n := onlyPort(f); n != nil {
		p.Dev = n.Name
		p.take(n, "this end's")
	}
	return p
}

// sessionPath is that of the iSCSI connection with the largest bandwidth-delay product.
func sessionPath(f *model.Facts) (Path, bool) {
	var best Path
	var most unit.Bytes
	for _, s := range f.ISCSI {
		for _, c := range s.Conns {
			p := PathTo(f, c.Portal.Addr(), c.Portal.Addr().String(), nil)
			p.RTT, p.RTTFrom = c.MinRTT.Or(0), "the smallest that "+s.Name+" saw"
			if bdp := (rules.Context{LineRate: p.Rate, RTT: p.RTT}).BDP(); bdp > most {
				best, most = p, bdp
			}
		}
	}
	return best, most > 0
}

// onlyPort is the only interface that is up, has an address and is not stacked on another; nil if
// there are several, or none.
func onlyPort(f *model.Facts) *model.NIC {
	var found *model.NIC
	for i, n := range f.NICs {
		if !n.Up || n.Name == "lo" || n.Master != "" || len(n.Addrs) == 0 {
			continue
		}
		if found != nil {
			return nil
		}
		found = &f.NICs[i]
	}
	return found
}

// Choose selects the interface that the user named. A path that leads through another interface
// is then dropped.
func (p Path) Choose(f *model.Facts, dev string) (Path, error) {
	n := named(f, dev)
	if n == nil {
		var have []string
		for _, n := range f.NICs {
			have = append(have, n.Name)
		}
		return p, fmt.Errorf("there is no interface %q on %s; there are %s", dev, f.Host, strings.Join(have, ", "))
	}
	if p.Dev != dev {
		p = Path{Dev: dev}
		p.take(n, "this end's")
	}
	return p, nil
}

func named(f *model.Facts, dev string) *model.NIC {
	i := slices.IndexFunc(f.NICs, func(n model.NIC) bool { return n.Name == dev && dev != "" })
	if i < 0 {
		return nil
	}
	return &f.NICs[i]
}

func withAddr(f *model.Facts, a netip.Addr) *model.NIC {
	if f == nil {
		return nil
	}
	i := slices.IndexFunc(f.NICs, func(n model.NIC) bool {
		return slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return p.Addr() == a })
	})
	if i < 0 {
		return nil
	}
	return &f.NICs[i]
}

// Fit is a built-in profile that fits a host, and the evidence that it does.
type Fit struct{ Name, Why string }

// Fits lists the built-in profiles that fit what a host does, the most certain first: by its
// mounts, sessions, pools and servers. It is empty if the host shows none of these.
func Fits(f *model.Facts) []Fit {
	var out []Fit
	if z, ok := f.ZFS.Get(); ok && len(z.Pools) > 0 {
		out = append(out, Fit{"zfs-filer", fmt.Sprintf("it has %d ZFS pools", len(z.Pools))})
	}
	if d, ok := f.NFSD.Get(); ok && d.Threads > 0 {
		out = append(out, Fit{"nfs-server", fmt.Sprintf("it serves NFS with %d threads", d.Threads)})
	}
	if len(f.ISCSI) > 0 {
		out = append(out, Fit{"iscsi-initiator", fmt.Sprintf("it has %d iSCSI sessions", len(f.ISCSI))})
	}
	nfs, smb := 0, 0
	for _, m := range f.Storage {
		if m.Type == "cifs" || m.Type == "smb3" || m.Type == "smbfs" || m.Type == "smb" {
			smb++
		} else {
			nfs++
		}
	}
	if nfs > 0 {
		out = append(out, Fit{"nfs-client", fmt.Sprintf("it mounts NFS (%d)", nfs)})
	}
	if smb > 0 {
		out = append(out, Fit{"media-client", fmt.Sprintf("it mounts SMB (%d)", smb)})
	}
	return out
}
