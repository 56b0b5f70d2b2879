package bsd

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// nfsPort and smbPort are what mounts use whose port is not shown.
const (
	nfsPort = 2049
	smbPort = 445
)

// Options takes "nfsv3,tcp,rsize=65536" apart: an option without a value has an empty one. What has
// several words is none ("mounted by anna").
func Options(list string) map[string]string {
	out := map[string]string{}
	for o := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(o), "=")
		if name != "" && !strings.Contains(name+value, " ") {
			out[name] = value
		}
	}
	return out
}

// Mount adds a mounted file system.
func (r Reading) Mount(m model.Mount) { r.F.Mounts = append(r.F.Mounts, m) }

// Served records what serves a mount, whose Options already have the names that Linux gives them.
// Of a server that is known by its name alone, neither the address nor the interface is known.
func (r Reading) Served(m *model.Mount, server netip.Addr, port uint16) {
	const why = "no command of the system shows it"
	n := model.NetMount{
		Point: m.Point, Type: m.Type, Server: server, Port: port, Proto: m.Options["proto"], Dev: r.toward(server),
		Conns:  model.Unknown[int](model.Unsupported, why),
		MinRTT: model.Unknown[model.Nanos](model.Unsupported, why),
		Ahead:  model.Unknown[unit.Bytes](model.Unsupported, why),
	}
	r.F.Storage = append(r.F.Storage, n)
}

// toward is the only interface in whose network an address is; empty: there is none, or several.
func (r Reading) toward(to netip.Addr) (dev string) {
	for _, n := range r.F.NICs {
		if !n.Up || !slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return p.Contains(to) && !p.Addr().IsLinkLocalUnicast() }) {
			continue
		}
		if dev != "" {
			return ""
		}
		dev = n.Name
	}
	return dev
}

// NFS gives the options of an NFS mount the names and values that Linux shows: vers, proto,
// xprtsec. The type is nfs4 from version 4 on.
func NFS(m *model.Mount) {
	o := m.Options
	for _, p := range []string{"tcp", "tcp4", "tcp6", "udp", "udp4", "udp6"} {
		if _, ok := o[p]; ok {
			o["proto"] = p[:3]
		}
	}
	for _, v := range []string{"2", "3", "4"} {
		if _, ok := o["nfsv"+v]; ok {
			o["vers"] = v
		}
	}
	if minor, ok := o["minorversion"]; ok && o["vers"] == "4" {
		o["vers"] = "4." + minor
	}
	if _, ok := o["tls"]; ok {
		o["xprtsec"] = "tls"
	}
	m.Type = "nfs"
	if strings.HasPrefix(o["vers"], "4") {
		m.Type = "nfs4"
	}
}

// PortOf is the port among the options of a mount, or the usual one.
func PortOf(o map[string]string) uint16 {
	if p, err := netip.ParseAddrPort("0.0.0.0:" + o["port"]); err == nil && p.Port() != 0 {
		return p.Port()
	}
	return nfsPort
}

// ServerOf is the address in "192.0.2.7:/export" or "[2001:db8::7]:/export"; invalid where a name
// stands there.
func ServerOf(source string) netip.Addr {
	host, _, _ := strings.Cut(source, ":/")
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a
}

var listed = regexp.MustCompile(`^(.+?) on (/.*) \(([A-Za-z0-9_.]+)((?:, [^,()]+)*)\)$`)

// Listed reads a line of "mount", as "nas:/export on /mnt (nfs, nodev, synchronous)".
func Listed(line string) (model.Mount, bool) {
	m := listed.FindStringSubmatch(line)
	if m == nil {
		return model.Mount{}, false
	}
	return sync(model.Mount{Source: m[1], Point: m[2], Type: m[3], Options: Options(m[4])}), true
}

// Tabled reads a line of "mount -p", which has the form of fstab with tabs between the fields.
func Tabled(line string) (model.Mount, bool) {
	w := strings.FieldsFunc(line, func(c rune) bool { return c == '\t' })
	if len(w) < 4 || !strings.HasPrefix(w[1], "/") {
		return model.Mount{}, false
	}
	return sync(model.Mount{Source: w[0], Point: w[1], Type: w[2], Options: Options(w[3])}), true
}

// sync gives a synchronous mount the word that Linux has for it.
func sync(m model.Mount) model.Mount {
	if _, ok := m.Options["synchronous"]; ok {
		m.Options["sync"] = ""
	}
	return m
}

// SMB records what serves a mount of SMB.
func (r Reading) SMB(m *model.Mount, server netip.Addr) {
	m.Options["proto"] = "tcp"
	r.Served(m, server, smbPort)
}
