package snapshot

import (
	"path"
	"strings"
)

// Held is one kind of what a recording holds once it is redacted.
type Held struct {
	Files string // a pattern of path.Match for each part of a name; ** at the end is all below
	What  string // what they hold, for who looks before sharing
	Names string // the names that people gave in them; HideNames replaces them or leaves the file out
}

// Kept lists all that a recording may hold. A file that no line has is left out.
func Kept() []Held {
	return []Held{
		{"manifest.json", "when it was recorded, how many files and bytes", ""},
		{"proc/stat", "processor times", ""},
		{"proc/meminfo", "memory", ""},
		{"proc/uptime", "how long the host is up", ""},
		{"proc/modules", "which modules are loaded", ""},
		{"proc/irq/**", "which processors serve an interrupt", ""},
		{"proc/net/**", "counters of the network, bonds", "interfaces"},
		{"proc/*/net/**", "counters of the network", ""},
		{"proc/*/cgroup", "the control group of a process that a rule names", "services"},
		{"proc/*/comm", "the name of a process that a rule names", ""},
		{"proc/*/stat", "times of a process that a rule names", ""},
		{"proc/*/status", "threads and processors of linerate", ""},
		{"proc/*/mountinfo", "mounts of storage", "mount points, shares, labels"},
		{"proc/*/ns/*", "numbers of namespaces", ""},
		{"proc/*/task/**", "times of threads", ""},
		{"proc/*/fd/*", "which sockets a process holds", "open files"},
		{"proc/sys/**", "settings of the kernel", "interfaces"},
		{"proc/fs/cifs/**", "sessions of the SMB client: addresses, credits", "shares; left out"},
		{"proc/fs/nfsd/**", "threads and counters of the NFS server", ""},
		{"proc/spl/**", "counters and states of ZFS", "pools"},
		{"etc/fstab", "mount points of network storage and the number of their connections", "mount points, shares"},
		{"dev/**", "devices by number, mapper and label", "volumes, labels"},
		{"mnt/**", "that a file is there", "mount points, files"},
		{"sys/bus/**", "PCI, Thunderbolt and SCSI: identifiers, speeds, errors, without serial numbers", ""},
		{"sys/class/**", "network, block, SCSI, iSCSI and thermal devices: speeds, queues, counters", "interfaces, volumes"},
		{"sys/block/**", "disks: queues, sizes", "volumes"},
		{"sys/devices/**", "processors, memory nodes, clocks, places of devices", "interfaces"},
		{"sys/fs/cgroup/**", "limits and times of control groups", "services"},
		{"sys/kernel/**", "interrupts, memory", ""},
		{"sys/module/**", "versions and parameters of modules", ""},
		{"netlink/links.json", "interfaces: MTU, state, counters", "interfaces"},
		{"netlink/addrs.json", "addresses: private ones as they are, public ones replaced", ""},
		{"netlink/routes.json", "routes, likewise", "interfaces"},
		{"netlink/qdiscs.json", "queueing disciplines", ""},
		{"netlink/conns.json", "TCP connections to storage: addresses likewise, ports, counters", ""},
		{"netlink/ports.json", "what drivers tell of interfaces: driver, firmware, rings, features, counters", "interfaces"},
		{firewallFile, "how many rules the firewall's chains have", "tables and chains; left out"},
		{"tools/*", "properties of ZFS pools and file systems", "pools, file systems"},
		{hostFilesFile, "the lines of configuration files that set what linerate knows", "files, interfaces, services; left out"},
	}
}

// isKept tells whether a line of Kept has a file.
func isKept(name string) bool {
	name, denied := strings.CutSuffix(name, denyMark)
	name = strings.TrimSuffix(name, linkMark)
	for _, k := range Kept() {
		if held(strings.Split(k.Files, "/"), strings.Split(name, "/"), denied) {
			return true
		}
	}
	return false
}

// held tells whether a pattern has a name, or something below one whose reading was denied.
func held(pattern, name []string, denied bool) bool {
	for i, p := range pattern {
		switch {
		case p == "**":
			return len(name) >= i
		case i >= len(name):
			return denied
		}
		if ok, err := path.Match(p, name[i]); err != nil || !ok {
			return false
		}
	}
	return len(name) == len(pattern)
}
