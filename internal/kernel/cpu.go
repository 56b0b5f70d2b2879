package kernel

import "time"

// CPUUsed is the CPU time that this process has used in all its threads, in the kernel too.
func CPUUsed() (time.Duration, error) {
	user, system, err := CPUTimes()
	return user + system, err
}
