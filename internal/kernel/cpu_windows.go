package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/windows"
)

// CPUTimes are the CPU time that this process has used in all its threads: in user mode, and in the
// kernel.
func CPUTimes() (user, system time.Duration, err error) {
	var started, ended, inKernel, inUser windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &started, &ended, &inKernel, &inUser); err != nil {
		return 0, 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return spent(inUser), spent(inKernel), nil
}

// spent is a time in units of 100 ns, which Filetime.Nanoseconds would take for a date.
func spent(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
