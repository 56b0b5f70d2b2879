package guide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
)

// Running is who has set a value that the running system has.
const Running = "the running system"

// atBoot are the beginnings of ids of what a file sets when the host starts, with the file and with what the id
// begins with while the system runs (empty: the same).
var atBoot = []struct{ begins, file, runs string }{
	{"freebsd.boot.", "/etc/sysctl.conf", "freebsd.sysctl."},
	{"freebsd.loader.", "/boot/loader.conf", "freebsd.sysctl."},
	{"macos.boot.", "/etc/sysctl.conf", "macos.sysctl."},
	{"macos.file.sysctl_conf", "/etc/sysctl.conf", ""},
	{"macos.file.nsmb_conf", "/etc/nsmb.conf", ""},
	{"illumos.system.", "/etc/system", ""},
	{"illumos.driver.ixgbe.", "/kernel/drv/ixgbe.conf", ""},
}

// notSettings begin the ids of what a host that is not Linux shows of itself, and of single lines of a file.
var notSettings = []string{"freebsd.changed.by.", "macos.nsmb."}

// InForce judges the values that a host has which is not Linux: by what was read there, not by files. It
// names settings as facts do, such as windows.adapter.jumbo.
func InForce(f *model.Facts) Report {
	b := openBook()
	release, _ := ParseRelease(f.Kernel) // empty: not known
	out := Report{V: 1, OS: f.OS, Kernel: f.Kernel, Items: []Item{}, Unread: map[string]string{}}
	for _, b := range f.CouldNotSee {
		out.Unread[b.What] = b.How
	}
	for _, id := range slices.Sorted(maps.Keys(f.Settings)) {
		value, ok := f.Settings[id].Get()
		if !ok && f.Settings[id].State != model.Absent { // a driver, or a release, that lacks it
			out.Unread[id] = f.Settings[id].Why
		}
		if ok && !slices.ContainsFunc(notSettings, func(p string) bool { return strings.HasPrefix(id, p) }) {
			out.Items = append(out.Items, b.inForce(f, id, value, release))
		}
	}
	return out
}

// inForce judges one value.
func (b *book) inForce(f *model.Facts, id, value string, r Release) Item {
	name, device, _ := strings.Cut(id, "@")
	it := Item{Setting: name, Name: name, Device: device, Value: value, SetBy: Running, InForce: true, RemovalRestores: "not known"}
	for _, w := range atBoot {
		rest, ok := strings.CutPrefix(name, w.begins)
		if !ok {
			continue
		}
		it.SetBy = w.file + ", read at boot"
		if w.runs != "" {
			it.Setting = w.runs + rest
			if now, known := f.Settings[w.runs+rest].Get(); known {
				it.Current, it.Holds = now, map[bool]string{true: "yes", false: "no"}[sameValue(now, value)]
			}
		}
	}
	s, m := b.resolve(f.OS, it.Setting)
	if s == nil || m == matchOtherOS {
		it.Status, it.Why = NotKnown, "The guide has no entry for it, so it is not judged."
		return it
	}
	it.Unverified, it.Source = s.Unverified, strings.Join(s.Sources, "; ")
	if s.ID == it.Setting { // the default of an entry is not that of its other names
		it.RemovalRestores = restores(s, matchExact, r, nil, -1)
	}
	it.Setting = s.ID
	it.Status, it.Why = s.opinionInForce(value, r, it.SetBy == Running)
	return it
}

// opinionInForce is the guide's opinion on a value that nobody need have chosen: that it is the default says
// nothing for it, and a default in words is compared with nothing. Every host has some value of what people
// take for another setting: while it runs, that is no mistake of anybody's.
func (s *Setting) opinionInForce(value string, r Release, running bool) (Status, string) {
	if j, ok := s.judgement(value, r); ok {
		if running && j.When == "any" && (j.Status == WrongName || j.Status == WrongSide) {
			return NoOp, j.Why
		}
		return j.Status, j.Why
	}
	d, ok := s.DefaultOn(r)
	have, def := numbers(value), numbers(d.Value)
	alike := len(have) > 0 && len(have) == len(def) || isSwitch(value) && isSwitch(d.Value)
	switch {
	case ok && sameValue(value, d.Value):
		return NoOp, "The default. When to change it: " + s.ChangeWhen
	case ok && s.NeverLower && alike && len(have) > 0 && have[len(have)-1] < def[len(def)-1]:
		return Harmful, fmt.Sprintf("Below the default (%s): the system would allow more. %s", d.Value, s.ChangeWhen)
	case ok && alike:
		return Valid, "Not the default. Worth it when: " + s.ChangeWhen
	}
	return NotKnown, fmt.Sprintf("Not judged: the guide has no value to compare it with (default: %s). When to change it: %s", d.Value, s.ChangeWhen)
}

func isSwitch(value string) bool { return value == "on" || value == "off" }
