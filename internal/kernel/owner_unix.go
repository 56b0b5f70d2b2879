//go:build unix

package kernel

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives f the owner and group that info has.
func keepOwner(f *os.File, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	if m, ok := mine.Sys().(*syscall.Stat_t); ok && m.Uid == st.Uid && m.Gid == st.Gid {
		return nil // nothing to do, so it works without privilege too
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
