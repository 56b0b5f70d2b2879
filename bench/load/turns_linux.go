package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"linerate/internal/stat"
)

// What of the cores' time the hypervisor may take in a pair that counts, and how
// many pairs are run at most for each that is wanted.
const (
	mostStolen = 0.05
	mostTries  = 3
)

// turns is how the pairs of a row went.
type turns struct {
	repeated int
	others   []float64 // what other processes took of the cores, by pair that counted
}

func (t turns) String() string {
	return fmt.Sprintf("%d | %.0f%%", t.repeated, 100*stat.Median(t.others))
}

// turns makes the runs of as many pairs as are wanted, each pair in the other order
// than the one before, and has every pair counted in which the hypervisor left the
// cores alone.
func (b *bench) turns(runs []func() error, count func()) (t turns, err error) {
	for i := 0; len(t.others) < b.pairs; i++ {
		if i == mostTries*b.pairs {
			return t, fmt.Errorf("the hypervisor took more than %.0f%% of the cores in %d of %d pairs: ask again when the machine is quieter", 100*mostStolen, t.repeated, i)
		}
		before, err := lookAtCores()
		if err != nil {
			return t, err
		}
		for k := range runs {
			if i%2 == 1 {
				k = len(runs) - 1 - k
			}
			if err := runs[k](); err != nil {
				return t, err
			}
		}
		after, err := lookAtCores()
		if err != nil {
			return t, err
		}
		all := (after.at.Sub(before.at) * time.Duration(runtime.NumCPU())).Seconds()
		if (after.stolen - before.stolen).Seconds() > mostStolen*all {
			t.repeated++
			continue
		}
		t.others = append(t.others, max(0, (after.busy-before.busy-(after.own-before.own)).Seconds()/all))
		count()
	}
	return t, nil
}

// cores is what the machine's cores have done so far.
type cores struct {
	at           time.Time
	busy, stolen time.Duration
	own          time.Duration // of busy, by processes that this one started and that have ended
}

// lookAtCores reads /proc/stat (proc_stat(5)) and what the children took.
func lookAtCores() (c cores, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return c, err
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	words := strings.Fields(line)
	if len(words) < 9 || words[0] != "cpu" {
		return c, errors.New("read /proc/stat: no line of all cores")
	}
	ticks := [8]time.Duration{} // user nice system idle iowait irq softirq steal
	for i, w := range words[1:9] {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return c, fmt.Errorf("read /proc/stat: %w", err)
		}
		ticks[i] = time.Duration(n) * 10 * time.Millisecond // USER_HZ is 100
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return c, fmt.Errorf("read CPU time of children: %w", err)
	}
	return cores{at: time.Now(), busy: ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], stolen: ticks[7],
		own: time.Duration(u.Utime.Nano() + u.Stime.Nano())}, nil
}
