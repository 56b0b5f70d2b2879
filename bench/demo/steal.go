package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// spoiledBy is the share of this machine's CPU time that, taken by the
// hypervisor, makes a run of the lab tell of the hypervisor only.
const spoiledBy = 0.2

// jiffies of all cores since boot (proc(5), /proc/stat).
type jiffies struct{ all, stolen float64 }

// processorTime is zero where /proc/stat cannot be read: then no run is taken
// for spoiled.
func processorTime() (t jiffies) {
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

func (t jiffies) stolenSince(before jiffies) float64 {
	if t.all <= before.all {
		return 0
	}
	return (t.stolen - before.stolen) / (t.all - before.all)
}
