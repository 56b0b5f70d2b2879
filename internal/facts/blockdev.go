package facts

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
)

// maxStack bounds how deep block devices are stacked (LVM on multipath on a disk).
const maxStack = 8

// iscsiPort is the default port of an iSCSI target (RFC 7143, section 15).
const iscsiPort = 3260

// blockDevice is the kernel's name of the block device at a path of /dev, such as "sdb1" or
// "dm-0"; "" for anything else. Links are followed; a node of /dev/mapper that is not a link is
// found by its name.
func blockDevice(src kernel.Files, p string) string {
	if !path.IsAbs(p) {
		return "" // a file system without a device: "tmpfs"
	}
	for range maxStack {
		target, err := src.Readlink(p)
		if err != nil {
			break // not a link, or missing
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p), target)
		}
		p = path.Clean(target)
	}
	name, ok := strings.CutPrefix(p, "/dev/")
	if !ok || name == "" {
		return ""
	}
	if mapped, ok := strings.CutPrefix(name, "mapper/"); ok {
		return mapperDevice(src, mapped)
	}
	name = strings.ReplaceAll(name, "/", "!") // as sysfs writes it: cciss!c0d0
	if _, err := src.Readlink("/sys/class/block/" + name); err != nil {
		return ""
	}
	return name
}

// mapperDevice finds the device-mapper device with this name.
func mapperDevice(src kernel.Files, name string) string {
	devs, err := src.ReadDir("/sys/class/block")
	if err != nil {
		return ""
	}
	for _, d := range devs {
		if b, err := src.ReadFile("/sys/class/block/" + d + "/dm/name"); err == nil && strings.TrimSpace(string(b)) == name {
			return d
		}
	}
	return ""
}

// portals are the iSCSI targets behind a block device, through partitions, LVM, multipath and md:
// those of all its paths. proto is "tcp", or the driver that bypasses the kernel's TCP
// (iscsi_iser, bnx2i, …).
func portals(src kernel.Files, dev string) (at []netip.AddrPort, proto string) {
	proto = "tcp"
	for _, disk := range disks(src, dev, maxStack) {
		link, err := src.Readlink("/sys/class/block/" + disk)
		if err != nil {
			continue
		}
		sid, ok := numbered(link, "session")
		if !ok {
			continue
		}
		if host, ok := numbered(link, "host"); ok {
			// drivers/scsi/iscsi_tcp.c names itself so; others carry
			// the session by RDMA or in the NIC.
			b, err := src.ReadFile("/sys/class/scsi_host/host" + host + "/proc_name")
			if name := strings.TrimSpace(string(b)); err == nil && name != "iscsi_tcp" {
				proto = name
			}
		}
		for _, p := range connectionsOf(src, sid) {
			if !slices.Contains(at, p) {
				at = append(at, p)
			}
		}
	}
	return at, proto
}

// disks are the whole disks that a block device lies on.
func disks(src kernel.Files, dev string, depth int) []string {
	link, err := src.Readlink("/sys/class/block/" + dev)
	if err != nil || depth == 0 {
		return nil
	}
	below, err := src.ReadDir("/sys/class/block/" + dev + "/slaves")
	if err != nil || len(below) == 0 {
		// A partition lies in its disk's directory: …/block/sdb/sdb1.
		if parent := path.Dir(link); path.Base(path.Dir(parent)) == "block" {
			return disks(src, path.Base(parent), depth-1)
		}
		return []string{dev}
	}
	var out []string
	for _, d := range below {
		out = append(out, disks(src, d, depth-1)...)
	}
	return out
}

// numbered finds the number of the element "kindN" in a path of sysfs.
func numbered(p, kind string) (string, bool) {
	for e := range strings.SplitSeq(p, "/") {
		if n, ok := strings.CutPrefix(e, kind); ok {
			if _, err := strconv.ParseUint(n, 10, 31); err == nil {
				return n, true
			}
		}
	}
	return "", false
}

// connectionsOf lists where the TCP connections of an iSCSI session go: the
// address they have reached or, while they have none, the portal's own
// (drivers/scsi/scsi_transport_iscsi.c: connection<session>:<cid>).
func connectionsOf(src kernel.Files, sid string) []netip.AddrPort {
	names, err := src.ReadDir("/sys/class/iscsi_connection")
	if err != nil {
		return nil
	}
	var out []netip.AddrPort
	for _, name := range names {
		if !strings.HasPrefix(name, "connection"+sid+":") {
			continue
		}
		dir := "/sys/class/iscsi_connection/" + name + "/"
		for _, attr := range []string{"", "persistent_"} {
			addr, err := src.ReadFile(dir + attr + "address")
			if err != nil {
				continue // not connected just now
			}
			port, _ := src.ReadFile(dir + attr + "port") // without one it is the usual port
			if p, err := parsePortal(string(addr), string(port)); err == nil {
				out = append(out, p)
				break
			}
		}
	}
	return out
}

// parsePortal reads the two attributes of a portal. A name instead of an
// address is an error: it is not looked up.
func parsePortal(addr, port string) (netip.AddrPort, error) {
	text := strings.TrimSpace(addr)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	a, err := netip.ParseAddr(text)
	if err != nil || a.IsUnspecified() {
		return netip.AddrPort{}, fmt.Errorf("parse portal %q: want an address", text)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(port), 10, 16)
	if err != nil || n == 0 {
		n = iscsiPort
	}
	return netip.AddrPortFrom(a.Unmap(), uint16(n)), nil
}
