//go:build darwin || freebsd || illumos || linux

package store

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes a lock or fails with ErrBusy. The kernel lets go of it when the
// process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrBusy
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
