package load

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/reach"
)

// busyHere reports that this machine was busy before a load began; empty: it was idle, or
// its kernel does not tell.
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
	// busyStall: from this share of the last ten seconds on, in percent, in which some task
	// waited for a core, other programs lower the figures of a load.
	busyStall = 10
	// busyQueue: the same for the tasks per core that wanted to run in the last minute.
	busyQueue = 0.75
)

// busyWords judges /proc/pressure/cpu (Documentation/accounting/psi.rst). Where that is
// missing it judges /proc/loadavg, which also counts programs that have just ended.
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

// onThisMachine tells whether a host's load uses this machine's cores: this host, or a lab's.
func onThisMachine(n HostName) bool {
	return reach.IsHere(n) || n.Lab != "" || strings.HasPrefix(n.String(), "lab:")
}
