package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/windows"
)

// CPUUsed is the CPU time that this process has used in all its threads.
func CPUUsed() (time.Duration, error) {
	var started, ended, inKernel, inUser windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &started, &ended, &inKernel, &inUser); err != nil {
		return 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return spent(inKernel) + spent(inUser), nil
}

// spent is a time in units of 100 ns, which Filetime.Nanoseconds would take for a date.
func spent(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
