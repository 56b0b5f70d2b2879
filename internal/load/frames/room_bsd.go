//go:build darwin || freebsd

package frames

import (
	"golang.org/x/sys/unix"

	"linerate/internal/unit"
)

// room is what a directory's file system has free for this user; below 0: not known.
func room(dir string) unit.Bytes {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bavail < 0 || int64(st.Bavail) > 1<<50 {
		return -1
	}
	return unit.Bytes(st.Bavail) * unit.Bytes(st.Bsize)
}
