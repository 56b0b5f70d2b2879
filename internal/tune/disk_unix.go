//go:build darwin || freebsd || illumos || linux

package tune

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"linerate/internal/kernel"
)

// noFollow has an open fail at a link, and not wait at a FIFO.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// syncOpened makes the names in an open directory durable.
func syncOpened(dir *os.File) error { return dir.Sync() }

// private tells whether only the owner can get at the directory.
func private(info os.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }

// othersWrite tells whether anybody but the owner may write.
func othersWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// foreignOwner tells whose a file is that is neither root's nor this user's.
func foreignOwner(info fs.FileInfo) (uid uint32, foreign bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, st.Uid != 0 && int(st.Uid) != os.Geteuid()
}

// namesOf is how many names a file has.
func namesOf(info fs.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(st.Nlink)
}

// removeIn removes a name in the directory.
func (d *state) removeIn(name string) error { return d.root.Remove(name) }

// openLock opens the file of the lock and locks it, also where it cannot be written to.
func (d *state) openLock() (*os.File, error) {
	f, err := d.open(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if unwritable(err) {
		f, err = d.open(lockName, os.O_RDONLY, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := kernel.LockOpened(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unwritable tells whether a file could not be written to as its file system has become read-only
// or its disk fails.
func unwritable(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO)
}
