//go:build unix

package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CPUUsed is the CPU time that this process has used in all its threads.
func CPUUsed() (time.Duration, error) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), nil
}
