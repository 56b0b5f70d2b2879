package profile

import (
	"slices"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/tune/setter"
	"linerate/internal/unit"
)

// Place is a setting of the host, or of one of its devices by model.NIC.Device.
type Place = setter.Place

// target is a device that a line is for, with its present name; both are empty for a setting of
// the whole host.
type target struct {
	id, name string
	also     []string // what findings call it beside its name
}

// ofPort tells whether a setting belongs to the hardware of a port, so that for a bond it is set
// at each of its ports.
func ofPort(setting string) bool {
	return hasPrefix(setting, "linux.ethtool.", "linux.irq.", "linux.queue.")
}

// ofInterface tells whether a setting belongs to an interface.
func ofInterface(setting string) bool {
	return ofPort(setting) || hasPrefix(setting, "linux.link.", "linux.tc.", "freebsd.ifconfig.", "freebsd.sysctl.dev.", "macos.link.", "illumos.dladm.", "windows.adapter.")
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// system is the word of ids of settings for what the host runs.
func (s Subject) system() string {
	switch s.Facts.OS {
	case "":
		return "linux" // of recordings that do not say
	case "darwin":
		return "macos"
	}
	return s.Facts.OS
}

// has tells whether the host's system can have a setting.
func (s Subject) has(setting string) bool {
	os, _, _ := strings.Cut(setting, ".")
	return os == "any" || os == s.system()
}

// targets are the devices that a setting is for: the port that carries the data, of a bond its
// ports; the mounts of the kind; the disks that are attached over the network. named overrides
// them.
func (s Subject) targets(setting, named string) ([]target, error) {
	switch {
	case named != "":
		return s.named(setting, named)
	case ofInterface(setting):
		return s.ports(setting)
	case hasPrefix(setting, "linux.bdi.", "linux.mount.nfs."):
		return s.mounts("NFS", "nfs", "nfs4")
	case hasPrefix(setting, "linux.mount.cifs."):
		return s.mounts("SMB", "cifs", "smb3")
	case hasPrefix(setting, "linux.block."):
		return s.disks()
	case hasPrefix(setting, "linux.iscsi."):
		return s.nodes()
	case hasPrefix(setting, "linux.route."):
		return s.route()
	case hasPrefix(setting, "any.zfs."):
		return nil, &UnknownError{"which data set is meant is not known", "name it: --set " + setting + "@POOL/DATASET=VALUE"}
	}
	return []target{{}}, nil
}

func (s Subject) ports(setting string) ([]target, error) {
	n := s.nic()
	if n == nil {
		return nil, s.noDevice()
	}
	var out []target
	for _, port := range s.Facts.NICs {
		if port.Master == n.Name && ofPort(setting) {
			out = append(out, target{id: port.Device, name: port.Name})
		}
	}
	if len(out) == 0 {
		out = []target{{id: n.Device, name: n.Name}}
	}
	return out, nil
}

// route is the one that leads to the other end.
func (s Subject) route() ([]target, error) {
	if s.Path.Route == "" {
		return nil, &UnknownError{"which route leads to the other end is not known", "name it, e.g. SETTING@route:10.0.0.0/24"}
	}
	return []target{{id: s.Path.Route, name: strings.TrimPrefix(s.Path.Route, routeTarget)}}, nil
}

// RouteTarget is the name of a route in a plan: its destination, as route:10.0.0.0/24, with
// @METRIC if it has one. A connected network is known by its address, which does not show the
// metric; the host's routing table does.
func RouteTarget(f *model.Facts, r model.Route) string {
	id := routeTarget + r.Dst.String()
	for _, in := range f.Routes {
		if in.Dst == r.Dst && in.Dev == r.Dev && in.Metric > 0 {
			return id + "@" + strconv.Itoa(in.Metric)
		}
	}
	return id
}

func (s Subject) mounts(what string, kinds ...string) ([]target, error) {
	var out []target
	for _, m := range s.Facts.Mounts {
		if slices.Contains(kinds, m.Type) {
			out = append(out, target{id: mountTarget + m.Point, name: m.Point})
		}
	}
	if len(out) == 0 {
		return nil, &UnknownError{"no " + what + " is mounted here", "mount it first"}
	}
	return out, nil
}

// disks are those attached by an iSCSI session.
func (s Subject) disks() ([]target, error) {
	var out []target
	for _, d := range s.Facts.Disks {
		if d.Session != "" {
			out = append(out, target{id: diskID(d), name: d.Name})
		}
	}
	if len(out) == 0 {
		return nil, &UnknownError{"no disk here comes over iSCSI", "name one with --set SETTING@block:NAME=VALUE"}
	}
	return out, nil
}

// diskID is the id of a disk in a plan: its name may be another disk's after a restart or a
// replugged cable.
func diskID(d model.Disk) string {
	if d.Device != "" {
		return d.Device
	}
	return blockTarget + d.Name
}

// nodes are the targets that the host is logged in to, by the portal of each connection, as in
// open-iscsi's records.
func (s Subject) nodes() ([]target, error) {
	var out []target
	for _, session := range s.Facts.ISCSI {
		also := []string{session.Name}
		for _, d := range s.Facts.Disks {
			if d.Session == session.Name {
				also = append(also, d.Name)
			}
		}
		for _, c := range session.Conns {
			id := nodeTarget + session.Target + "," + c.Portal.String()
			if !slices.ContainsFunc(out, func(t target) bool { return t.id == id }) {
				out = append(out, target{id, strings.TrimPrefix(id, nodeTarget), also})
			}
		}
	}
	if len(out) == 0 {
		return nil, &UnknownError{"there is no iSCSI session here", "log in first"}
	}
	return out, nil
}

// Prefixes of the ids of devices other than interfaces; the mechanisms of package setter read
// them.
const (
	mountTarget = "mount:"
	blockTarget = "block:"
	nodeTarget  = "iscsi:"
	zfsTarget   = "zfs:"
	routeTarget = "route:"
)

// kindOf is the id prefix of a setting's devices; empty: only its mechanism knows.
func kindOf(setting string) string {
	switch {
	case hasPrefix(setting, "linux.bdi.", "linux.mount."):
		return mountTarget
	case hasPrefix(setting, "linux.block."):
		return blockTarget
	case hasPrefix(setting, "linux.iscsi."):
		return nodeTarget
	case hasPrefix(setting, "any.zfs."):
		return zfsTarget
	}
	return ""
}

// near lists the CPUs of the NIC's NUMA node in the kernel's format; empty if unknown.
func (s Subject) near() string {
	n := s.nic()
	if n == nil {
		return ""
	}
	return unit.CPUList(n.LocalCPUs.Or(nil))
}

// named finds an interface or a disk by its name or id. Other devices are left to the setting's
// mechanism.
func (s Subject) named(setting, name string) ([]target, error) {
	i := slices.IndexFunc(s.Facts.NICs, func(n model.NIC) bool { return n.Name == name || n.Device == name })
	if i >= 0 {
		return []target{{id: s.Facts.NICs[i].Device, name: s.Facts.NICs[i].Name}}, nil
	}
	if at := strings.LastIndex(name, "/"); at > 0 && setting == "windows.binding.protocols" { // of an adapter
		of, err := s.named("windows.adapter.", name[:at])
		if err != nil {
			return nil, err
		}
		return []target{{id: of[0].id + name[at:], name: of[0].name + name[at:]}}, nil
	}
	if hasPrefix(setting, "linux.block.") {
		for _, d := range s.Facts.Disks {
			if name == d.Name || name == blockTarget+d.Name {
				return []target{{id: diskID(d), name: d.Name}}, nil
			}
		}
	}
	if !ofInterface(setting) {
		id := name
		if !strings.Contains(id[:min(len(id), len("serial:"))], ":") {
			id = kindOf(setting) + name
		}
		return []target{{id: id, name: name}}, nil
	}
	var have []string
	for _, n := range s.Facts.NICs {
		have = append(have, n.Name)
	}
	return nil, &UnknownError{"there is no interface " + name, "there are " + strings.Join(have, ", ")}
}

// Resolve finds where a setting is set on a host: the named device, or without a name the
// profile's targets, which may be several (a bond's ports, all mounts of a kind). An UnknownError
// says what is unknown.
func (s Subject) Resolve(setting, device string) ([]Place, error) {
	at, err := s.targets(setting, device)
	if err != nil {
		return nil, err
	}
	out := make([]Place, 0, len(at))
	for _, t := range at {
		out = append(out, Place{Setting: setting, Target: t.id})
	}
	return out, nil
}
