//go:build unix

package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTimes are the CPU time that this process has used in all its threads: in user mode, and in the
// kernel.
func CPUTimes() (user, system time.Duration, err error) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return 0, 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano()), nil
}
