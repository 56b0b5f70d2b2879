package frames

import (
	"os"

	"golang.org/x/sys/unix"

	"linerate/internal/unit"
)

// forget asks the page cache to drop a file that is durable.
func forget(f *os.File) error { return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// room is what a directory's file system has free for this user; below 0: not
// known.
func room(dir string) unit.Bytes {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bavail > 1<<50 {
		return -1
	}
	return unit.Bytes(st.Bavail) * unit.Bytes(st.Bsize)
}
