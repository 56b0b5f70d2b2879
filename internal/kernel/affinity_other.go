//go:build !linux

package kernel

import (
	"fmt"
	"runtime"
	"time"
)

func noAffinity(what string) error {
	return fmt.Errorf("%s: unsupported on %s", what, runtime.GOOS)
}

// Affinity is unsupported on this system.
func Affinity() ([]int, error) { return nil, noAffinity("read CPU affinity") }

// SetAffinity is unsupported on this system.
func SetAffinity([]int) error { return noAffinity("bind to CPUs") }

// SetThreadAffinity is unsupported on this system.
func SetThreadAffinity(int, []int) error { return noAffinity("bind to CPUs") }

// SetNice is unsupported on this system.
func SetNice(int, int) error { return noAffinity("set nice value") }

// RunFirst is unsupported on this system.
func RunFirst() error { return noAffinity("set real-time priority") }

// PreciseTimers is unsupported on this system.
func PreciseTimers() error { return noAffinity("set timer slack") }

// CPUUsed is unsupported on this system.
func CPUUsed() (time.Duration, error) { return 0, noAffinity("read own CPU time") }
