package kernel

import "golang.org/x/sys/unix"

// LockWrites takes the lock of fcntl (F_WRLCK) on all of an open file, or fails at once. The kernel
// releases it when any descriptor of the file is closed by this process.
func LockWrites(fd int) error {
	return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}
