package guide

import (
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
)

// inForce finds the running value of the setting in a line and compares it with the value in
// the line: "yes" if equal, "no" if not, empty if they cannot be compared.
func inForce(h model.HostFiles, p placed) (current, holds string) {
	if name, ok := strings.CutPrefix(p.id, "linux.sysctl."); ok {
		if current, ok = h.Now[name]; !ok {
			return "", ""
		}
		return current, agree(p.name, p.value, current)
	}
	device := oneDevice(p.device)
	name := p.name
	if name == "nfsvers" {
		name = "vers"
	}
	i := slices.IndexFunc(h.Running, func(r model.Running) bool {
		return r.Name == name && r.Device == device && (r.Setting == p.id || name == "vers")
	})
	if i < 0 {
		return "", ""
	}
	current = h.Running[i].Value
	return current, agree(name, p.value, current)
}

// oneDevice is the device that a line names, if it names exactly one; for a .link file, the
// name that its match gives.
func oneDevice(device string) string {
	if strings.ContainsAny(device, "*?[ ") && !strings.HasPrefix(device, "irq ") {
		return "?" // several devices, or one without a name: no single value
	}
	for _, key := range []string{"OriginalName=", "Name="} {
		if name, ok := strings.CutPrefix(device, key); ok {
			return name
		}
	}
	return device
}

// agree compares a line's value with the running one as the kernel would.
func agree(name, line, running string) string {
	if strings.ContainsAny(line, "$`") {
		return "" // the script computes the value
	}
	same := sameValue(line, running)
	switch name {
	case "smp_affinity", "rps_cpus", "xps_cpus":
		same = maskCPUs(line) == maskCPUs(running)
	case "vers":
		same = same || strings.HasPrefix(running, line+".")
	case "proto":
		same = same || running == line+"6"
	}
	if !same && (on(line) != line || on(running) != running) {
		same = on(line) == on(running) // a module prints 1 as Y
	}
	if same {
		return "yes"
	}
	return "no"
}

// Sysctls are all dotted names of the Linux sysctls in the guide; IF stands for every interface.
func Sysctls() []string {
	var out []string
	for _, s := range All() {
		name, ok := strings.CutPrefix(s.ID, "linux.sysctl.")
		if !ok {
			continue
		}
		out = append(out, name)
		for _, other := range s.Names {
			if strings.Contains(other, ".") {
				out = append(out, other)
			}
		}
	}
	return out
}

// Parameters are the parameters of Linux modules in the guide, as MODULE.PARAMETER.
func Parameters() []string {
	var out []string
	for _, s := range All() {
		if name, ok := strings.CutPrefix(s.ID, "linux.zfsmodule."); ok {
			out = append(out, "zfs."+name)
		}
		if name, ok := strings.CutPrefix(s.ID, "linux.module."); ok {
			out = append(out, name)
		}
	}
	return out
}

// Current returns a host's running values of a setting. A sysctl with other names has a value
// under each; a setting of interfaces has one for each of them.
func Current(h model.HostFiles, s Setting) []model.Running {
	var out []model.Running
	name, sysctl := strings.CutPrefix(s.ID, "linux.sysctl.")
	before, leaf, each := strings.Cut(name, ".IF.")
	for _, n := range append([]string{name}, s.Names...) {
		if v, ok := h.Now[n]; ok && sysctl {
			out = append(out, model.Running{Setting: s.ID, Name: n, Value: v})
		}
	}
	for _, n := range slices.Sorted(maps.Keys(h.Now)) {
		if rest, ok := strings.CutPrefix(n, before+"."); ok && sysctl && each {
			if dev, ok := strings.CutSuffix(rest, "."+leaf); ok {
				out = append(out, model.Running{Setting: s.ID, Name: leaf, Device: dev, Value: h.Now[n]})
			}
		}
	}
	b := openBook()
	for _, r := range h.Running {
		found, m := b.resolve(h.OS, r.Setting)
		if m == matchExact && (found.ID == s.ID || strings.HasPrefix(found.ID, s.ID+".")) {
			out = append(out, r)
		}
	}
	return out
}
