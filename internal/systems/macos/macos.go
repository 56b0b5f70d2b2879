// Package macos reads macOS hosts by the commands of their base system: sysctl, networksetup,
// ifconfig, netstat. It is pure: the script that it sends is fixed, and it judges texts. It
// refuses to guess: a line that it does not understand is told.
package macos

import (
	_ "embed" // the script
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/bsd"
	"linerate/internal/systems/frame"
)

//go:embed read.sh
var script string

// System is macOS.
type System struct{}

// Name implements systems.System.
func (System) Name() string { return "macos" }

// Script implements systems.System.
func (System) Script() string { return frame.Shell(script) }

// Tried implements systems.System.
func (System) Tried() string {
	return "its commands were tried against an imitation only, never on a real Mac"
}

// Facts implements systems.System.
func (System) Facts(frames frame.Frames) *model.Facts {
	r := bsd.Start("macos", frames)
	r.Host(r.Sysctls("host"), "hw.memsize")
	if v := r.One("product"); v != "" {
		r.F.Kernel += " (macOS " + v + ")"
	}
	if id := r.One("bootid"); id != "" {
		r.F.BootID = "kern.bootsessionuuid " + id
	} else {
		r.Blind("bootid", "whether the host was restarted since", r.Frames.Text("bootid").Why)
	}
	r.Settings(r.Sysctls("values"), bsd.Asked(script))
	r.Links()
	r.LinkCounters()
	r.TCPCounters()
	ports(r)
	mounts(r)
	written(r)
	return r.F
}

// ports name what the hardware of an interface is, where macOS does.
func ports(r bsd.Reading) {
	port := ""
	for _, line := range r.Lines("ports", "which interface is which port") {
		if name, ok := strings.CutPrefix(line, "Hardware Port: "); ok {
			port = name
		} else if device, ok := strings.CutPrefix(line, "Device: "); ok {
			for i := range r.F.NICs {
				if r.F.NICs[i].Name == device && r.F.NICs[i].Kind == "" {
					r.F.NICs[i].Driver = model.Known(port)
					r.F.NICs[i].Kind = wireless(port)
				}
			}
		}
	}
}

func wireless(port string) string {
	if port == "Wi-Fi" {
		return "wireless"
	}
	return ""
}

// written are files: /etc/sysctl.conf, which current releases do not read, and the options of the
// SMB client.
func written(r bsd.Reading) {
	var set, options []string
	for _, line := range r.Optional("sysctlconf", "what somebody once set at boot") {
		line, _, _ := strings.Cut(line, "#")
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.TrimSpace(value) != "" {
			r.F.Settings["macos.boot."+strings.TrimSpace(name)] = model.Known(strings.TrimSpace(value))
			set = append(set, strings.TrimSpace(name))
		}
	}
	section, inForce := "", map[string]string{}
	for _, line := range r.Optional("nsmb", "the options of the SMB client") {
		// Only a whole line is a comment: what follows a value is part of it, as the client reads it.
		line = strings.TrimSuffix(strings.TrimLeft(line, "\t "), "\r")
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if rest, is := strings.CutPrefix(line, "["); is {
			if section, _, _ = strings.Cut(rest, "]"); section == "global" {
				section = "default" // its other name
			}
		} else if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(value) != "" {
			name, value = strings.TrimSpace(name), strings.TrimLeft(value, "\t ")
			r.F.Settings["macos.nsmb."+section+"."+name] = model.Known(value)
			if section == "default" { // the others are of one server, whose name is nobody's business
				inForce[name] = value // a section may be named again: the last value counts
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(inForce)) {
		options = append(options, name+"="+inForce[name])
	}
	for file, says := range map[string][]string{"macos.file.sysctl_conf": set, "macos.file.nsmb_conf": options} {
		if len(says) > 0 {
			r.F.Settings[file] = model.Known(strings.Join(says, " "))
		}
	}
}
