package guide

import (
	"slices"
	"strings"

	"linerate/internal/model"
)

// bootLines reads the arguments of the running kernel; if they are not known, those in the
// boot loader's files.
func bootLines(h model.HostFiles) []placed {
	if text, ok := h.Files["/proc/cmdline"]; ok {
		return place("/proc/cmdline", stageBoot, parseArguments(text, 1))
	}
	var out []placed
	for _, path := range []string{"/etc/default/grub", "/boot/grub/grub.conf"} {
		n := 0
		for line := range strings.Lines(h.Files[path]) {
			n++
			line = strings.TrimSpace(line)
			rest, ok := strings.CutPrefix(line, "kernel ")
			if key, value, is := strings.Cut(line, "="); is && strings.HasPrefix(key, "GRUB_CMDLINE_LINUX") {
				rest, ok = unquote(value), true
			}
			if ok {
				out = append(out, place(path, stageBoot, parseArguments(rest, n))...)
			}
		}
	}
	return out
}

// parseArguments selects the arguments of a kernel command line that affect throughput: memory,
// IOMMU and idle states, sysctl.NAME (Linux 5.8 and later) and MODULE.PARAMETER.
func parseArguments(text string, line int) []assignment {
	var out []assignment
	for _, word := range strings.Fields(text) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			continue
		}
		module, parameter, dotted := strings.Cut(key, ".")
		switch {
		case slices.Contains([]string{"mem", "ramdisk_size", "iommu", "intel_iommu", "amd_iommu", "processor.max_cstate", "intel_idle.max_cstate"}, key):
			out = append(out, assignment{id: "linux.boot." + key, name: key, value: value, line: line})
		case module == "sysctl" && dotted && parameter != "":
			name := sysctlName(parameter)
			out = append(out, assignment{id: "linux.sysctl." + name, name: name, value: value, line: line})
		case dotted && parameter != "" && slices.Contains(dataModules(), strings.ReplaceAll(module, "-", "_")):
			a := moduleOption(module, parameter, value)
			a.line = line
			out = append(out, a)
		}
	}
	return out
}

// dataModules are the modules on the data path, whose options on a command line affect
// throughput: NIC drivers, storage, congestion control.
func dataModules() []string {
	return strings.Fields(`zfs sunrpc nfs nfsd lockd cifs nvme nvme_core nvme_tcp iscsi_tcp libiscsi tcp_cubic tcp_bbr bonding
		mlx4_core mlx4_en mlx5_core ixgbe ixgbevf i40e iavf ice igb igc e1000e bnx2x bnxt_en cxgb4 sfc ena qede tg3 be2net atlantic virtio_net vmxnet3 r8169`)
}

// moduleLines reads modprobe.d.
func moduleLines(h model.HostFiles) []placed {
	var out []placed
	for _, path := range byName(h, ".conf", "/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d") {
		out = append(out, place(path, stageBoot, parseModprobe(h.Files[path]))...)
	}
	return out
}

// parseModprobe reads the lines "options MODULE NAME=VALUE …".
func parseModprobe(text string) []assignment {
	var out []assignment
	for n, line := range joined(text) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "options" {
			continue
		}
		for _, w := range words[2:] {
			if key, value, ok := strings.Cut(w, "="); ok && key != "" {
				a := moduleOption(words[1], key, unquote(value))
				a.line = n
				out = append(out, a)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b assignment) int { return a.line - b.line })
	return out
}

// moduleOption is a module's parameter as a setting.
func moduleOption(module, key, value string) assignment {
	id := "linux.module." + module + "." + key
	switch module {
	case "zfs":
		id = "linux.zfsmodule." + key
	case "sunrpc":
		id = "linux.sysctl.sunrpc." + key
	}
	return assignment{id: id, name: module + " " + key, value: value}
}

// joined returns lines by number. A line that ends in a backslash is joined with the next,
// under the number of the first.
func joined(text string) map[int]string {
	out := map[int]string{}
	n, start, held := 0, 1, ""
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutSuffix(line, "\\"); ok {
			held += rest + " "
			continue
		}
		out[start] = held + line
		start, held = n+1, ""
	}
	if held != "" {
		out[start] = held
	}
	return out
}

// udevLines reads the commands and writes of udev rules.
func udevLines(h model.HostFiles) []placed {
	var out []placed
	for _, path := range byName(h, ".rules", "/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d") {
		out = append(out, place(path, stageDevice, parseUdev(h.Files[path]))...)
	}
	return out
}

// parseUdev reads RUN+="COMMAND" and ATTR{NAME}="VALUE" of a rules file.
func parseUdev(text string) []assignment {
	attrs := map[string][2]string{
		"tx_queue_len":      {"linux.link.txqueuelen", "txqueuelen"},
		"mtu":               {"linux.link.mtu", "mtu"},
		"queue/scheduler":   {"linux.block.scheduler", "scheduler"},
		"queue/nr_requests": {"linux.block.nr_requests", "nr_requests"},
		"read_ahead_kb":     {"linux.bdi.nfs_readahead", "read_ahead_kb"},
	}
	var out []assignment
	for n, line := range joined(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, part := range strings.Split(line, ",") {
			part = strings.TrimSpace(part)
			key, value, ok := strings.Cut(part, "=")
			if !ok || strings.HasPrefix(value, "=") { // "==" compares; it assigns nothing
				continue
			}
			if strings.HasPrefix(key, "RUN") {
				for _, a := range parseShell(unquote(value), posix) {
					a.line = n
					out = append(out, a)
				}
			}
			name := strings.TrimSuffix(strings.TrimPrefix(key, "ATTR{"), "}")
			if k, ok := attrs[name]; ok {
				out = append(out, assignment{id: k[0], name: k[1], value: unquote(value), line: n})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b assignment) int { return a.line - b.line })
	return out
}
