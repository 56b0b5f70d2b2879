package load

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace is what an ordinary user may still write below dir.
func freeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bsize <= 0 || st.Bavail > 1<<62/uint64(st.Bsize) {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// writeBack waits until the n bytes from off on are at the storage and has the
// more bytes after them set out (sync_file_range(2)).
func writeBack(f *os.File, off, n, more int64) error {
	err := unix.SyncFileRange(int(f.Fd()), off+n, more, unix.SYNC_FILE_RANGE_WRITE)
	if err == nil && n > 0 {
		err = unix.SyncFileRange(int(f.Fd()), off, n,
			unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
	}
	if errors.Is(err, unix.ESPIPE) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return f.Sync() // a file system that has no such thing
	}
	return err
}
