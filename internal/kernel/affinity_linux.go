package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Affinity lists the CPUs that the calling thread may run on.
func Affinity() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read CPU affinity: %w", err)
	}
	var cpus []int
	for i := 0; len(cpus) < set.Count(); i++ {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// SetAffinity binds the calling thread, and the threads and processes that it
// starts from now on, to cpus.
func SetAffinity(cpus []int) error { return SetThreadAffinity(0, cpus) }

// SetThreadAffinity binds thread tid; 0 is the calling one.
func SetThreadAffinity(tid int, cpus []int) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("bind to CPUs %v: %w", cpus, err)
	}
	return nil
}

// SetNice sets the nice value (-20 first … 19 last) of thread tid; 0 is the
// calling thread. Lowering it needs privilege.
func SetNice(tid, nice int) error {
	if err := unix.Setpriority(unix.PRIO_PROCESS, tid, nice); err != nil {
		return fmt.Errorf("set nice value of thread %d to %d: %w", tid, nice, err)
	}
	return nil
}

// RunFirst puts the calling thread before all ordinary tasks of the machine
// (SCHED_RR at its lowest priority, sched(7)); a nice value would rank it within
// its own session or control group only. It needs privilege.
func RunFirst() error {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return fmt.Errorf("set real-time priority: %w", err)
	}
	return nil
}

// PreciseTimers asks the kernel to end the calling thread's waits on time
// rather than up to 50 µs late (PR_SET_TIMERSLACK, prctl(2)).
func PreciseTimers() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set timer slack: %w", err)
	}
	return nil
}
