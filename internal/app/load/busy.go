package load

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/reach"
)

// busyHere says that this machine was busy before a load began; empty: it was not, or
// cannot be told.
func busyHere() string {
	root := kernel.Root("/")
	pressure, err := root.ReadFile("/proc/pressure/cpu")
	if err != nil {
		pressure = nil // kernels before 4.20, or without CONFIG_PSI
	}
	average, err := root.ReadFile("/proc/loadavg")
	if err != nil {
		average = nil
	}
	return busyWords(string(pressure), string(average), runtime.NumCPU())
}

const (
	// busyStall is the share of the last ten seconds in which some task had to wait for a
	// core, in percent: from there on a load measures the others too.
	busyStall = 10
	// busyQueue is how many tasks per core wanted one, over the last minute.
	busyQueue = 0.75
)

// busyWords judges /proc/pressure/cpu (Documentation/accounting/psi.rst) and, where there
// is none, /proc/loadavg, which also has what has just ended.
func busyWords(pressure, average string, cores int) string {
	const after = ": the figures are of what it left; end what else runs, or wait, and repeat"
	for line := range strings.Lines(pressure) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "some" {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimPrefix(f[1], "avg10="), 64); err == nil {
			if v < busyStall {
				return ""
			}
			return fmt.Sprintf("this machine was busy before the load began (in the last 10 s tasks had to wait for a core for %.0f%% of the time)%s", v, after)
		}
	}
	f := strings.Fields(average)
	if len(f) == 0 || cores < 1 {
		return ""
	}
	if v, err := strconv.ParseFloat(f[0], 64); err == nil && v >= busyQueue*float64(cores) {
		return fmt.Sprintf("this machine was busy before the load began (load average %.1f on %d cores)%s", v, cores, after)
	}
	return ""
}

// onThisMachine tells whether a host's load is this machine's: its own, or a lab's.
func onThisMachine(n HostName) bool {
	return reach.IsHere(n) || n.Lab != "" || strings.HasPrefix(n.String(), "lab:")
}
