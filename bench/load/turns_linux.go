package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"linerate/bench/kit"
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
	return fmt.Sprintf("%d | %.0f%%", t.repeated, 100*kit.MedianOrZero(t.others))
}

// turns makes the runs of as many pairs as are wanted, each pair in the other order
// than the one before, and has every pair counted in which the hypervisor left the
// cores alone.
func (b *bench) turns(runs []func() error, count func()) (t turns, err error) {
	for i := 0; len(t.others) < b.pairs; i++ {
		if i == mostTries*b.pairs {
			return t, fmt.Errorf("the hypervisor took more than %.0f%% of the cores in %d of %d pairs: ask again when the machine is quieter", 100*mostStolen, t.repeated, i)
		}
		before, _, err1 := kit.ReadCPU()
		own, err2 := children()
		if err := errors.Join(err1, err2); err != nil {
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
		after, _, err1 := kit.ReadCPU()
		ended, err2 := children()
		if err := errors.Join(err1, err2); err != nil {
			return t, err
		}
		cpu := after.Since(before)
		if cpu.Share(cpu.Stolen) > mostStolen {
			t.repeated++
			continue
		}
		t.others = append(t.others, max(0, cpu.Share(cpu.Busy-(ended-own))))
		count()
	}
	return t, nil
}

// children is the CPU time of the processes that this one started and that have
// ended.
func children() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return 0, fmt.Errorf("read CPU time of children: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
