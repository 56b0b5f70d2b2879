//go:build unix

package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owner also returns the number of hard links.
func owner(info fs.FileInfo) (uid, gid, links int) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return os.Geteuid(), os.Getegid(), 1
	}
	return int(st.Uid), int(st.Gid), int(st.Nlink)
}

func chown(full string, uid, gid int) error { return os.Lchown(full, uid, gid) }

// chmod sets the mode regardless of the umask.
func chmod(full string, mode uint32) error {
	if err := syscall.Chmod(full, mode); err != nil {
		return fmt.Errorf("chmod %s: %w", full, err)
	}
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
