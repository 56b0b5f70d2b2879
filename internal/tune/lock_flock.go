//go:build darwin || freebsd || illumos || linux

package tune

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock or fails with ErrBusy. The kernel lets go of it when
// the process ends, however it ends.
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

// unlockFile lets go of the lock at once: closing alone does so only once a
// child that another goroutine forks at this moment has let go of its copy.
func unlockFile(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// private tells whether only the owner can get at the directory.
func private(info os.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }

// diskFull tells whether a write failed for want of room.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
