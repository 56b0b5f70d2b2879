// Package steal tells how much of this machine's CPU time the hypervisor under it
// took for others: what a bench measures meanwhile tells of the hypervisor.
package steal

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// Spoiled is the share of this machine's CPU time that, taken by the hypervisor,
// makes a run of the lab tell of the hypervisor only.
const Spoiled = 0.2

// Time is the CPU time of all cores since boot, in jiffies (proc(5), /proc/stat).
type Time struct{ all, stolen float64 }

// Now is zero where /proc/stat cannot be read: then nothing is taken for spoiled.
func Now() (t Time) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return t
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	if !s.Scan() {
		return t
	}
	const stealField = 8 // after the name: user nice system idle iowait irq softirq steal
	for i, v := range strings.Fields(s.Text()) {
		n, err := strconv.ParseFloat(v, 64)
		if i == 0 || i > stealField || err != nil {
			continue
		}
		t.all += n
		if i == stealField {
			t.stolen = n
		}
	}
	return t
}

// Since is the share that was stolen between two readings.
func (t Time) Since(before Time) float64 {
	if t.all <= before.all {
		return 0
	}
	return (t.stolen - before.stolen) / (t.all - before.all)
}
