package guide

import (
	"strings"

	"linerate/internal/model"
)

// entry is one KEY=VALUE of an ini file.
type entry struct {
	section, key, value string
	line                int
}

// parseINI reads sections and KEY=VALUE lines; "#" and ";" begin comments. A line that begins
// with space continues the value before (TuneD, Samba).
func parseINI(text string) []entry {
	var out []entry
	section, n := "", 0
	for raw := range strings.Lines(text) {
		n++
		line := strings.TrimSpace(raw)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = strings.ToLower(strings.TrimSpace(line[1 : len(line)-1]))
		default:
			key, value, ok := strings.Cut(line, "=")
			if ok && strings.TrimSpace(key) != "" {
				out = append(out, entry{section, strings.TrimSpace(key), unquote(value), n})
			}
		}
	}
	return out
}

// linkKeys maps keys of systemd.link(5) to the setting and its displayed name.
func linkKeys() map[string][2]string {
	return map[string][2]string{
		"rxbuffersize":                  {"linux.ethtool.ring", "ring rx"},
		"txbuffersize":                  {"linux.ethtool.ring", "ring tx"},
		"mtubytes":                      {"linux.link.mtu", "mtu"},
		"transmitqueuelength":           {"linux.link.txqueuelen", "txqueuelen"},
		"rxflowcontrol":                 {"linux.ethtool.pause", "pause rx"},
		"txflowcontrol":                 {"linux.ethtool.pause", "pause tx"},
		"autonegotiationflowcontrol":    {"linux.ethtool.pause", "pause autoneg"},
		"tcpsegmentationoffload":        {"linux.ethtool.tso", "tso"},
		"genericsegmentationoffload":    {"linux.ethtool.gso", "gso"},
		"genericreceiveoffload":         {"linux.ethtool.gro", "gro"},
		"largereceiveoffload":           {"linux.ethtool.lro", "lro"},
		"receivechecksumoffload":        {"linux.ethtool.rx", "rx"},
		"transmitchecksumoffload":       {"linux.ethtool.tx", "tx"},
		"rxcoalescesec":                 {"linux.ethtool.coalesce", "coalesce rx"},
		"txcoalescesec":                 {"linux.ethtool.coalesce", "coalesce tx"},
		"useadaptiverxcoalesce":         {"linux.ethtool.coalesce", "coalesce adaptive-rx"},
		"useadaptivetxcoalesce":         {"linux.ethtool.coalesce", "coalesce adaptive-tx"},
		"combinedchannels":              {"linux.ethtool.channels", "channels combined"},
		"rxchannels":                    {"linux.ethtool.channels", "channels rx"},
		"txchannels":                    {"linux.ethtool.channels", "channels tx"},
		"genericsegmentoffloadmaxbytes": {"linux.link.gso_max_size", "gso_max_size"},
	}
}

// linkLines reads systemd's .link and .network files, and NetworkManager's profiles.
func linkLines(h model.HostFiles) []placed {
	var out []placed
	for _, ending := range []string{".link", ".network"} {
		for _, path := range byName(h, ending, "/etc/systemd/network", "/run/systemd/network", "/usr/local/lib/systemd/network", "/usr/lib/systemd/network", "/lib/systemd/network") {
			if !ofNetplan(path) {
				out = append(out, place(path, stageDevice, parseLink(h.Files[path]))...)
			}
		}
	}
	const connections = "/NetworkManager/system-connections"
	for _, path := range byName(h, ".nmconnection", "/etc"+connections, "/run"+connections, "/usr/lib"+connections) {
		if !ofNetplan(path) {
			out = append(out, place(path, stageDevice, parseConnection(h.Files[path]))...)
		}
	}
	return out
}

// parseLink reads one such file. The device is what its [Match] section matches.
func parseLink(text string) []assignment {
	var out []assignment
	var matches []string
	keys := linkKeys()
	for _, e := range parseINI(text) {
		if e.section == "match" {
			matches = append(matches, e.key+"="+e.value)
			continue
		}
		if k, ok := keys[strings.ToLower(e.key)]; ok && e.section == "link" {
			value := e.value
			if w := on(value); w != value && len(value) > 1 {
				value = w
			}
			out = append(out, assignment{id: k[0], name: k[1], value: value, line: e.line})
		}
	}
	for i := range out {
		out[i].device = strings.Join(matches, " ")
	}
	return out
}

// parseConnection reads MTU and ethtool options of a NetworkManager profile.
func parseConnection(text string) []assignment {
	var out []assignment
	device := ""
	for _, e := range parseINI(text) {
		switch {
		case e.section == "connection" && (e.key == "interface-name" || e.key == "id" && device == ""):
			device = e.value
		case (e.section == "ethernet" || e.section == "802-3-ethernet") && e.key == "mtu":
			out = append(out, assignment{id: "linux.link.mtu", name: "mtu", value: e.value, line: e.line})
		case e.section == "ethtool":
			kind, what, _ := strings.Cut(e.key, "-")
			if kind == "" || what == "" {
				continue
			}
			a := assignment{id: "linux.ethtool." + kind, name: kind + " " + what, value: e.value, line: e.line}
			if kind == "feature" {
				a.id, a.name, a.value = "linux.ethtool."+what, what, on(e.value)
			}
			out = append(out, a)
		}
	}
	for i := range out {
		out[i].device = device
	}
	return out
}

// tunedActive is the active profile of TuneD; empty: none.
func tunedActive(h model.HostFiles) string {
	return canonical(h.Files["/etc/tuned/active_profile"])
}

// tunedLines reads the active profile. The profiles that it includes come first.
func tunedLines(h model.HostFiles) []placed {
	var out []placed
	seen := map[string]bool{}
	var read func(profiles string)
	read = func(profiles string) {
		for _, name := range strings.FieldsFunc(profiles, func(r rune) bool { return r == ' ' || r == ',' || r == ';' }) {
			path := tunedProfile(h, name)
			if path == "" || seen[path] {
				continue
			}
			seen[path] = true
			for _, e := range parseINI(h.Files[path]) {
				if e.section == "main" && e.key == "include" {
					read(e.value)
				}
			}
			list := parseTuned(h.Files[path])
			for i := range list {
				list[i].by = strings.TrimPrefix(list[i].by+", TuneD profile "+name, ", ")
			}
			out = append(out, place(path, stageTuned, list)...)
		}
	}
	read(tunedActive(h))
	return out
}

func tunedProfile(h model.HostFiles, name string) string {
	for _, folder := range []string{"/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"} {
		if path := folder + "/" + name + "/tuned.conf"; h.Files[path] != "" {
			return path
		}
	}
	return ""
}

// parseTuned reads one profile without those that it includes. With ">" or "<" TuneD applies a
// value only if it raises or lowers the current one.
func parseTuned(text string) []assignment {
	var out []assignment
	for _, e := range parseINI(text) {
		a := assignment{name: e.key, value: canonical(unquote(strings.TrimLeft(e.value, "><"))), line: e.line}
		switch {
		case strings.HasPrefix(e.value, ">"):
			a.by = "only where it raises"
		case strings.HasPrefix(e.value, "<"):
			a.by = "only where it lowers"
		}
		switch e.section {
		case "sysctl":
			a.name = sysctlName(e.key)
			a.id = "linux.sysctl." + a.name
		case "cpu":
			if e.key != "governor" && e.key != "force_latency" {
				continue
			}
			a.id = map[string]string{"governor": "linux.cpu.governor", "force_latency": "linux.cpu.cstates"}[e.key]
		case "net":
			if a.id = "linux.ethtool." + e.key; e.key != "ring" && e.key != "coalesce" && e.key != "features" && e.key != "channels" && e.key != "pause" {
				continue
			}
		default:
			continue
		}
		out = append(out, a)
	}
	return out
}
