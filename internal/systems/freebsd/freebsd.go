// Package freebsd reads FreeBSD hosts (TrueNAS CORE among them) by the commands of their base
// system: sysctl, ifconfig, netstat, nfsstat, zfs. It is pure: the script that it sends is fixed,
// and it judges texts. It refuses to guess: a line that it does not understand is told.
package freebsd

import (
	_ "embed" // the script
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/bsd"
	"linerate/internal/systems/frame"
)

//go:embed read.sh
var script string

// System is FreeBSD.
type System struct{}

// Name implements systems.System.
func (System) Name() string { return "freebsd" }

// Script implements systems.System.
func (System) Script() string { return frame.Shell(script) }

// Tried implements systems.System.
func (System) Tried() string {
	return "its commands were tried against an imitation only, never on a real FreeBSD host"
}

// Facts implements systems.System.
func (System) Facts(frames frame.Frames) *model.Facts {
	r := bsd.Start("freebsd", frames)
	r.Host(r.Sysctls("host"), "hw.physmem")
	r.F.BootID = boot(r)
	values := r.Sysctls("values")
	r.Settings(values, bsd.Asked(script))
	threads(r, values)
	changeable(r, values)
	if cc := r.Lines("cc", "which congestion controls there are"); len(cc) > 0 {
		r.F.Settings["freebsd.sysctl.net.inet.tcp.cc.available"] = model.Known(algorithms(cc))
	}
	r.Links()
	r.LinkCounters()
	r.TCPCounters()
	drivers(r)
	offload(r)
	mounts(r)
	r.Optional("exports", "what NFS exports, which linerate does not judge here yet")
	r.ZFS(r.Optional("zfs", "synchronous writes, block size and cache of data sets"))
	written(r)
	return r.F
}

// boot tells starts apart. The boot time moves when the clock is set, so it is the second choice.
func boot(r bsd.Reading) string {
	if _, id, ok := strings.Cut(r.One("bootid"), "Dump:"); ok {
		return "kern.boot_id " + id
	}
	if t := r.One("boottime"); t != "" {
		return "kern.boottime " + t
	}
	r.Blind("bootid", "whether the host was restarted since", r.Frames.Text("bootid").Why)
	return ""
}

// threads: the guide's name for it is not the system's, which has none while no server runs.
func threads(r bsd.Reading, values map[string]string) {
	if v, ok := values["vfs.nfsd.maxthreads"]; ok && v != "" {
		r.F.Settings["freebsd.nfsd.threads"] = model.Known(v)
	} else if len(values) > 0 {
		r.F.Settings["freebsd.nfsd.threads"] = model.Unknown[string](model.Absent, "no NFS server is loaded")
	}
}

// changeable tells which settings can be written while the system runs, and which the loader takes.
func changeable(r bsd.Reading, values map[string]string) {
	writable := r.Lines("writable", "which sysctls can be changed while the system runs")
	tunable := r.Optional("tunable", "which sysctls the loader takes")
	if len(writable) == 0 {
		return
	}
	for name := range values {
		how := "fixed"
		switch {
		case slices.Contains(writable, name) && slices.Contains(tunable, name):
			how = "runtime,loader"
		case slices.Contains(writable, name):
			how = "runtime"
		case slices.Contains(tunable, name):
			how = "loader"
		}
		r.F.Settings["freebsd.changed.by."+name] = model.Known(how)
	}
}

// algorithms are the names in what sysctl prints: a table with a heading, or a list in one line.
func algorithms(lines []string) string {
	var out []string
	for _, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "CCmod") || strings.TrimSpace(line) == "" {
			continue
		}
		if len(lines) == 1 {
			return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }), ",")
		}
		out = append(out, strings.Fields(line)[0])
	}
	return strings.Join(out, ",")
}

// drivers are the names of interfaces without their numbers; pause frames of ix are a setting.
func drivers(r bsd.Reading) {
	for i, n := range r.F.NICs {
		if n.Kind == "" {
			r.F.NICs[i].Driver = model.Known(strings.TrimRight(n.Name, "0123456789"))
		}
	}
}

// offload is what all hardware interfaces have alike. One without a line of options has none on, as far as
// ifconfig shows it, or its line was not understood: it is not like one that has such a line.
func offload(r bsd.Reading) {
	of := map[string]string{}
	name := ""
	for _, line := range strings.Split(r.Frames.Text("links").Or(""), "\n") {
		if head, _, ok := strings.Cut(line, ":"); ok && strings.TrimLeft(line, " \t") == line {
			name = head
		}
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "options=")
		if _, flags, found := strings.Cut(rest, "<"); ok && found {
			of[name] = on("lro", flags, "LRO") + "," + on("tso4", flags, "TSO4") + "," + on("tso6", flags, "TSO6")
		}
	}
	seen := map[string]bool{}
	for _, n := range r.F.NICs {
		if n.Kind == "" {
			seen[of[n.Name]] = true
		}
	}
	for value := range seen {
		switch {
		case len(seen) > 1:
			r.F.Settings["freebsd.ifconfig.offload"] = model.Unknown[string](model.Absent, "interfaces differ")
		case value != "":
			r.F.Settings["freebsd.ifconfig.offload"] = model.Known(value)
		}
	}
}

func on(name, flags, flag string) string {
	if strings.Contains(","+strings.TrimSuffix(flags, ">")+",", ","+flag+",") {
		return name + "=on"
	}
	return name + "=off"
}

// written are the files that are read when the host starts: what runs may differ. Their ids say so.
func written(r bsd.Reading) {
	for _, file := range []struct{ frame, id string }{{"loader", "freebsd.loader."}, {"sysctlconf", "freebsd.boot."}} {
		for _, line := range r.Optional(file.frame, "what is set at boot") {
			line, _, _ := strings.Cut(line, "#")
			name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if value = strings.Trim(strings.TrimSpace(value), `"`); ok && value != "" {
				r.F.Settings[file.id+strings.TrimSpace(name)] = model.Known(value)
			}
		}
	}
}
