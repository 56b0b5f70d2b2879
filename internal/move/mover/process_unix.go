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

// plainModes has files made with the modes that they are given, up to what most have: by ssh a mover is
// started with a mask that takes group and others everything, and each file would be given its mode
// a second time.
func plainModes() { unix.Umask(0o022) }
