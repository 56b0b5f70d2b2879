package kit

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Spoiled is the share of this machine's CPU time that, taken by the hypervisor,
// makes a run of the lab tell of the hypervisor only.
const Spoiled = 0.2

// CPU is the time that cores have spent since boot, or between two readings.
type CPU struct{ All, Busy, Stolen time.Duration }

// ReadCPU reads the time of all cores together, and of each (proc(5), /proc/stat).
func ReadCPU() (all CPU, each []CPU, err error) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return all, nil, err
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "cpu") {
			break
		}
		var name string
		var t [8]time.Duration // user nice system idle iowait irq softirq steal
		if _, err := fmt.Sscan(line, &name, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]); err != nil {
			return all, nil, fmt.Errorf("read /proc/stat: %w", err)
		}
		const tick = 10 * time.Millisecond // USER_HZ is 100
		busy := t[0] + t[1] + t[2] + t[5] + t[6]
		c := CPU{All: tick * (busy + t[3] + t[4] + t[7]), Busy: tick * busy, Stolen: tick * t[7]}
		if name == "cpu" {
			all = c
		} else {
			each = append(each, c)
		}
	}
	return all, each, nil
}

// Since is the time between two readings.
func (c CPU) Since(before CPU) CPU {
	return CPU{c.All - before.All, c.Busy - before.Busy, c.Stolen - before.Stolen}
}

// Share is what part of all time some of it is; 0 of no time.
func (c CPU) Share(part time.Duration) float64 {
	if c.All <= 0 {
		return 0
	}
	return part.Seconds() / c.All.Seconds()
}
