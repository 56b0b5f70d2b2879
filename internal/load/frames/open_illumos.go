package frames

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"linerate/internal/unit"
)

// openFile opens a file; ZFS has a cache of its own, which no flag passes by.
func openFile(path string, flags int, direct bool) (*os.File, error) {
	if direct {
		return nil, fmt.Errorf("%w: illumos", ErrNoDirect)
	}
	return os.OpenFile(path, flags, 0o600)
}

// room is what a directory's file system has free for this user; below 0: not known.
func room(dir string) unit.Bytes {
	var st unix.Statvfs_t
	if err := unix.Statvfs(dir, &st); err != nil || st.Bavail > 1<<50 {
		return -1
	}
	return unit.Bytes(st.Bavail) * unit.Bytes(st.Frsize)
}
