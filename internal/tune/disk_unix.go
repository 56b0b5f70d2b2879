//go:build darwin || freebsd || illumos || linux

package tune

import (
	"errors"
	"os"
	"syscall"
)

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
