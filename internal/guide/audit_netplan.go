package guide

import (
	"regexp"
	"strings"

	"linerate/internal/model"
)

// netplanLines reads netplan's files. The files of all folders apply in the order of their
// names; a file in a folder of higher rank hides files of the same name (netplan-generate(8)).
func netplanLines(h model.HostFiles) []placed {
	var out []placed
	for _, path := range byName(h, ".yaml", "/run/netplan", "/etc/netplan", "/lib/netplan") {
		out = append(out, place(path, stageDevice, parseNetplan(h.Files[path]))...)
	}
	return out
}

// netplanKeys maps keys of a device in netplan's YAML to the setting and its displayed name
// (netplan-yaml(5)).
func netplanKeys() map[string][2]string {
	return map[string][2]string{
		"mtu":                          {"linux.link.mtu", "mtu"},
		"receive-checksum-offload":     {"linux.ethtool.rx", "rx"},
		"transmit-checksum-offload":    {"linux.ethtool.tx", "tx"},
		"tcp-segmentation-offload":     {"linux.ethtool.tso", "tso"},
		"tcp6-segmentation-offload":    {"linux.ethtool.tx-tcp6-segmentation", "tx-tcp6-segmentation"},
		"generic-segmentation-offload": {"linux.ethtool.gso", "gso"},
		"generic-receive-offload":      {"linux.ethtool.gro", "gro"},
		"large-receive-offload":        {"linux.ethtool.lro", "lro"},
	}
}

// parseNetplan reads the devices' keys by their indentation. That works for YAML in block
// style, as netplan's files are, and keeps the line numbers, which decoding into values would
// lose. Flow style, {a: b}, and aliases are skipped.
func parseNetplan(text string) []assignment {
	var out []assignment
	keys := netplanKeys()
	line := regexp.MustCompile(`^( *)([^\s:#][^:#]*):(?:\s+([^#]*))?`)
	type level struct {
		indent int
		key    string
	}
	var path []level
	n := 0
	for raw := range strings.Lines(text) {
		n++
		m := line.FindStringSubmatch(strings.TrimRight(raw, "\r\n"))
		if m == nil {
			continue
		}
		for len(path) > 0 && path[len(path)-1].indent >= len(m[1]) {
			path = path[:len(path)-1]
		}
		key, value := unquote(m[2]), unquote(m[3])
		// network: / ethernets: / DEVICE: / key
		if k, ok := keys[key]; ok && len(path) == 3 && path[0].key == "network" && value != "" {
			if k[0] != "linux.link.mtu" {
				value = on(value)
			}
			out = append(out, assignment{id: k[0], name: k[1], value: value, device: path[2].key, line: n})
		}
		path = append(path, level{len(m[1]), key})
	}
	return out
}

// ofNetplan tells whether netplan generated the file at this boot, so that its settings come
// from netplan's own files.
func ofNetplan(path string) bool {
	return strings.HasPrefix(path, "/run/") && (strings.HasPrefix(base(path), "10-netplan-") || strings.HasPrefix(base(path), "netplan-"))
}
