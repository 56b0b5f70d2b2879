package place

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// Clone has the file system give the file the data of src, without a byte of them passing
// through here: shared with it (FICLONE), or copied by the server of a mount of both
// (copy_file_range). False: it cannot, and nothing was written.
func (f *file) Clone(ctx context.Context, src int) (bool, error) {
	if unix.IoctlFileClone(f.fd, src) == nil {
		var st unix.Stat_t
		if err := unix.Fstat(f.fd, &st); err != nil {
			return false, err
		}
		if st.Size != f.e.Size {
			return false, move.ErrChanged
		}
		f.reached(st.Size)
		f.cloned()
		return true, nil
	}
	if !serverCopies(f.fd, src) {
		return false, nil
	}
	for at := int64(0); at < f.e.Size; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		from, to := at, at
		n, err := unix.CopyFileRange(src, &from, f.fd, &to, int(min(f.e.Size-at, 64<<20)), 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil && at == 0 {
			return false, nil // the engine reads and writes instead
		}
		if err != nil {
			return false, f.p.sinkError(err)
		}
		if n == 0 {
			return false, move.ErrChanged
		}
		at += int64(n)
	}
	f.reached(f.e.Size)
	f.cloned()
	return true, nil
}

func (f *file) cloned() {
	f.p.report.Count(func(s *move.Summary) { s.Cloned++; s.ClonedBytes += f.e.Size })
}

// serverCopies tells whether both files lie on one mount whose server can copy. Between local
// disks copy_file_range gains nothing, and linerate would see no data to hash.
func serverCopies(a, b int) bool {
	var x, y unix.Stat_t
	var fs unix.Statfs_t
	if unix.Fstat(a, &x) != nil || unix.Fstat(b, &y) != nil || x.Dev != y.Dev || unix.Fstatfs(a, &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return true
	}
	return false
}
