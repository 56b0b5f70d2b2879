package setter

import (
	"fmt"
	"strconv"
	"strings"
)

// cpuFiles are the settings of this mechanism: the directory of the members, the prefix of their
// names, and the file of each (Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst;
// Documentation/ABI/testing/sysfs-devices-power).
type cpuFile struct{ dir, prefix, file string }

func cpuFiles(setting string) (cpuFile, bool) {
	f, ok := map[string]cpuFile{
		"linux.cpu.governor":                      {"/sys/devices/system/cpu/cpufreq", "policy", "scaling_governor"},
		"linux.cpu.energy_performance_preference": {"/sys/devices/system/cpu/cpufreq", "policy", "energy_performance_preference"},
		cstates: {"/sys/devices/system/cpu", "cpu", "power/pm_qos_resume_latency_us"},
	}[setting]
	return f, ok
}

const cstates = "linux.cpu.cstates"

// CPU sets the frequency governor and the energy preference of the cores, and their wake-up
// latency: linux.cpu.cstates is its bound in µs for every core ("none": any idle state), by the
// file pm_qos_resume_latency_us, which needs no process that holds it open. A value is one word
// for all cores, or "policy0=performance policy4=powersave" if they differ.
func CPU(tree Tree) Setter {
	return spreads{
		owns: func(setting string) bool { _, ok := cpuFiles(setting); return ok },
		of:   func(at Place) spread { return cpuSpread(tree, at) },
	}
}

func cpuSpread(tree Tree, at Place) spread {
	f, ok := cpuFiles(at.Setting)
	s := spread{
		tree: tree, word: cpuWord, found: trimmed, filter: trimmedShell,
		check: func(at Place) error {
			if !ok || at.Target != "" {
				return fmt.Errorf("cpu %s: want linux.cpu.governor, energy_performance_preference or cstates, and no device: %w", at, ErrValue)
			}
			return nil
		},
		members: func(Place) ([]member, error) { return membersIn(tree, f.dir, f.prefix, f.file) },
		list:    func(Place) (string, error) { return listNumbered(Quote(tree.Path(f.dir)), f.prefix, f.file), nil },
	}
	if at.Setting == cstates {
		// The kernel's words are counter-intuitive: 0 is no bound, n/a is no latency at all.
		s.found, s.filter = latencyFound, `{ read -r word; case "$word" in 0) word=none ;; n/a) word=0 ;; esac; echo "$word"; }`
		s.stored, s.store = latencyStored, `case "$new" in none) new=0 ;; 0) new=n/a ;; esac`
	}
	return s
}

func latencyFound(text string) string {
	switch text = strings.TrimSpace(text); text {
	case "0":
		return "none"
	case "n/a":
		return "0"
	}
	return text
}

func latencyStored(value string) string {
	switch value {
	case "none":
		return "0"
	case "0":
		return "n/a"
	}
	return value
}

// cpuWord checks one value. The kernel itself refuses governors that it lacks.
func cpuWord(at Place, s string) (string, error) {
	if at.Setting != cstates {
		if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return "", fmt.Errorf("value of %s: %q is no name of the kernel's: %w", at, s, ErrValue)
		}
		return s, nil
	}
	if s == "none" {
		return s, nil
	}
	n, err := numberIn(at, "microseconds", s, limits{0, 1<<31 - 1, false})
	return strconv.FormatInt(n, 10), err
}
