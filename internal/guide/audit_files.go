package guide

import (
	"slices"
	"strings"

	"linerate/internal/model"
)

// mountLines reads mounts, exports, and the files of Samba and nfsd.
func mountLines(h model.HostFiles) []placed {
	out := place("/etc/fstab", stageMount, parseFstab(h.Files["/etc/fstab"]))
	out = append(out, place("/etc/exports", stageMount, parseExports(h.Files["/etc/exports"]))...)
	for _, path := range inFiles(h, "/etc/exports.d", ".exports") {
		out = append(out, place(path, stageMount, parseExports(h.Files[path]))...)
	}
	out = append(out, place("/etc/samba/smb.conf", stageMount, parseSamba(h.Files["/etc/samba/smb.conf"]))...)
	var nfsd []assignment
	for _, e := range parseINI(h.Files["/etc/nfs.conf"]) {
		if e.section == "nfsd" && e.key == "threads" {
			nfsd = append(nfsd, assignment{id: "linux.nfsd.threads", name: "threads", value: e.value, line: e.line})
		}
	}
	return append(out, place("/etc/nfs.conf", stageMount, nfsd)...)
}

// parseFstab reads the options of network file systems that affect throughput. The device is the
// mount point.
func parseFstab(text string) []assignment {
	var out []assignment
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(line)
		if len(f) < 4 || strings.HasPrefix(f[0], "#") {
			continue
		}
		kind := map[string]string{"nfs": "nfs", "nfs4": "nfs", "cifs": "cifs", "smb3": "cifs"}[f[2]]
		if kind == "" {
			continue
		}
		for _, opt := range strings.Split(f[3], ",") {
			key, value, _ := strings.Cut(opt, "=")
			switch key {
			case "udp", "tcp":
				key, value = "proto", opt
			case "multichannel":
				value = "on"
			case "rsize", "wsize", "nconnect", "vers", "nfsvers", "proto", "max_channels":
			default:
				continue
			}
			out = append(out, assignment{id: "linux.mount." + kind + "." + key, name: key, value: value, device: f[1], line: n})
		}
	}
	return out
}

// parseExports reads the clients of each export and whether it acknowledges writes early (async).
func parseExports(text string) []assignment {
	var out []assignment
	for n, line := range joined(text) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		for _, client := range f[1:] {
			host, opts, _ := strings.Cut(strings.TrimSuffix(client, ")"), "(")
			if host == "*" || host == "" {
				out = append(out, assignment{id: "linux.exports.clients", name: "clients", value: "*", device: f[0], line: n})
			}
			for _, opt := range strings.Split(opts, ",") {
				if opt == "async" || opt == "sync" {
					out = append(out, assignment{id: "linux.exports.sync", name: "sync", value: opt, device: f[0], line: n})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b assignment) int { return a.line - b.line })
	return out
}

// parseSamba reads the global options that affect throughput.
func parseSamba(text string) []assignment {
	known := map[string]string{
		"socketoptions": "socket_options", "servermultichannelsupport": "multichannel",
		"aioreadsize": "aio_sendfile", "aiowritesize": "aio_sendfile", "usesendfile": "aio_sendfile", "writecachesize": "aio_sendfile",
		"serversigning": "signing",
	}
	var out []assignment
	for _, e := range parseINI(text) {
		key := strings.ToLower(strings.ReplaceAll(e.key, " ", ""))
		if id, ok := known[key]; ok && e.section == "global" {
			out = append(out, assignment{id: "linux.samba." + id, name: canonical(e.key), value: canonical(e.value), line: e.line})
		}
	}
	return out
}

// scriptLines reads what runs at the end of a boot: rc scripts, units, interface scripts, the
// scripts of driver packages, and start-up scripts of Windows.
func scriptLines(h model.HostFiles) []placed {
	paths := make([]string, 0, len(h.Files))
	for path := range h.Files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	seen := map[string]bool{} // rc3.d and rc5.d link to the same script
	var out []placed
	for _, path := range paths {
		target := path
		if to, ok := h.Links[path]; ok {
			target = to
		}
		if seen[target] {
			continue
		}
		list, ok := parseScript(path, h.Files[path])
		if strings.HasSuffix(path, "/sysctl_perf_tuning") {
			driverScript(h, list)
		}
		if ok {
			seen[target] = true
			out = append(out, place(path, stageScript, list)...)
		}
	}
	return out
}

// driverScript marks lines of the Mellanox driver's tuning script as executed or not: the
// driver runs it when it starts if openib.conf has RUN_SYSCTL=yes.
func driverScript(h model.HostFiles, list []assignment) {
	runs := false
	for _, e := range parseINI(h.Files["/etc/infiniband/openib.conf"]) {
		runs = runs || e.key == "RUN_SYSCTL" && on(e.value) == "on"
	}
	for i := range list {
		list[i].by, list[i].inert = "executed by the Mellanox driver when it starts", false
		if !runs {
			list[i].by, list[i].inert = "of the Mellanox driver, not executed when it starts: openib.conf has no RUN_SYSCTL=yes", true
		}
	}
}

// parseScript parses a file as the kind that its path implies; false if files of that kind
// execute nothing.
func parseScript(path, text string) ([]assignment, bool) {
	switch {
	case path == "/etc/network/interfaces", strings.HasPrefix(path, "/etc/network/interfaces.d/"):
		return parseInterfaces(text), true
	case strings.HasPrefix(path, "/etc/sysconfig/network") && strings.HasPrefix(base(path), "ifcfg-"):
		return parseIfcfg(strings.TrimPrefix(base(path), "ifcfg-"), text), true
	case strings.HasSuffix(path, ".service"):
		return parseUnit(text), true
	case strings.HasPrefix(path, "/Windows/"):
		return parseShell(text, windows), true
	case strings.HasSuffix(path, "/sysctl_perf_tuning"):
		return parseShell(text, posix), true
	case strings.HasPrefix(path, "/etc/rc"), strings.HasPrefix(path, "/etc/init.d/"), strings.HasPrefix(path, "/etc/network/if-up.d/"),
		strings.Contains(path, "/NetworkManager/dispatcher.d/"):
		return parseShell(text, posix), true
	}
	return nil, false
}

// parseInterfaces reads ifupdown's file: mtu lines, and commands after up.
func parseInterfaces(text string) []assignment {
	var out []assignment
	device := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var list []assignment
		switch word {
		case "iface":
			device, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		case "mtu":
			list = linkWords(device, []string{word, strings.TrimSpace(rest)})
		case "up", "post-up", "pre-up":
			list = parseShell(strings.ReplaceAll(rest, "$IFACE", device), posix)
		}
		for _, a := range list {
			a.line = n
			out = append(out, a)
		}
	}
	return out
}

// parseIfcfg reads the network scripts of Red Hat and SUSE systems.
func parseIfcfg(device, text string) []assignment {
	var out []assignment
	for _, e := range parseINI(text) {
		var list []assignment
		switch e.key {
		case "MTU":
			list = linkWords(device, []string{"mtu", e.value})
		case "ETHTOOL_OPTS", "ETHTOOL_OPTIONS": // of Red Hat, of SUSE
			opts := strings.NewReplacer("${DEVICE}", device, "$DEVICE", device, " iface ", " "+device+" ").Replace(e.value)
			for _, one := range strings.Split(opts, ";") {
				list = append(list, parseShell("ethtool "+one, posix)...)
			}
		}
		for _, a := range list {
			a.line = e.line
			out = append(out, a)
		}
	}
	return out
}

// parseUnit reads the commands of a systemd service.
func parseUnit(text string) []assignment {
	var out []assignment
	for _, e := range parseINI(text) {
		if e.section != "service" || !strings.HasPrefix(e.key, "ExecStart") {
			continue
		}
		cmd := strings.TrimLeft(e.value, "-@:+!")
		list := parseShell(cmd, posix)
		if _, inner, ok := strings.Cut(cmd, " -c "); ok {
			list = append(list, parseShell(unquote(inner), posix)...)
		}
		for _, a := range list {
			a.line = e.line
			out = append(out, a)
		}
	}
	return out
}

// illumosLines reads /etc/system and the files of drivers.
func illumosLines(h model.HostFiles) []placed {
	out := place("/etc/system", stageBoot, parseSystem(h.Files["/etc/system"]))
	for _, path := range inFiles(h, "/etc/system.d", "") {
		out = append(out, place(path, stageBoot, parseSystem(h.Files[path]))...)
	}
	for _, path := range byName(h, ".conf", "/etc/driver/drv", "/kernel/drv") {
		driver := strings.TrimSuffix(base(path), ".conf")
		out = append(out, place(path, stageDevice, parseDriver(driver, h.Files[path]))...)
	}
	return out
}

// parseSystem reads the lines "set MODULE:NAME=VALUE" of system(5); "*" and "#" begin comments.
func parseSystem(text string) []assignment {
	var out []assignment
	n := 0
	for line := range strings.Lines(text) {
		n++
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "set ")
		name, value, is := strings.Cut(rest, "=")
		name = strings.TrimSpace(name)
		if !ok || !is || name == "" {
			continue
		}
		out = append(out, assignment{id: "illumos.system." + name, name: name, value: strings.TrimSpace(value), line: n})
	}
	return out
}

// parseDriver reads the lines "NAME = VALUE;" of driver.conf(5).
func parseDriver(driver, text string) []assignment {
	var out []assignment
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || strings.ContainsAny(name, " \t") || !strings.HasSuffix(value, ";") || name == "name" {
			continue
		}
		out = append(out, assignment{id: "illumos.driver." + driver + "." + name, name: driver + " " + name, value: strings.TrimSuffix(value, ";"), line: n})
	}
	return out
}
