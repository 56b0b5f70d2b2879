//go:build unix

package mover

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time of this process, in the kernel too.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
