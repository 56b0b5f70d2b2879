//go:build darwin || freebsd || illumos || linux

package kernel

import (
	"errors"
	"os"
	"syscall"
)

// LockFile locks a file or fails with ErrLocked. The kernel releases the lock when the process
// ends.
func LockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := LockOpened(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// LockOpened locks an open file or fails with ErrLocked.
func LockOpened(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EACCES) { // so on SMB (Linux 6.1)
		return ErrLocked
	}
	return err
}

// UnlockFile releases the lock at once. Closing the file would release it only after a child that
// another goroutine forks at this moment has closed its copy.
func UnlockFile(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
