//go:build unix

package scratch

import (
	"errors"
	"io"
	"os"
	"syscall"

	"linerate/internal/kernel"
)

// hold takes the lock of a directory that was just made.
func hold(root string) (io.Closer, error) {
	f, err := os.OpenFile(root+"/"+lockName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	// A file system without locks has none that another could find free either.
	err = kernel.LockOpened(f)
	if err != nil && !errors.Is(err, syscall.ENOLCK) && !errors.Is(err, syscall.ENOTSUP) {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// abandoned tells whether a directory is this user's and nobody holds its lock. One without a
// lock may be about to get it: it stays.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return false
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return false
	}
	defer root.Close() // only read: a close that fails loses nothing
	f, err := root.OpenFile(lockName, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close() // releases the lock
	return kernel.LockOpened(f) == nil
}
