package block

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/unit"
)

// descriptor is an open file as system calls see it.
type descriptor int

func openTarget(s Spec, writes, destroy bool) (*Target, error) {
	st, err := os.Stat(s.Path)
	if err != nil {
		return nil, err
	}
	device, err := kindOf(st.Mode())
	if err != nil {
		return nil, err
	}
	flags := unix.O_CLOEXEC | unix.O_RDONLY
	if writes {
		flags = unix.O_CLOEXEC | unix.O_RDWR
	}
	if s.Direct {
		flags |= unix.O_DIRECT
	}
	if s.Sync == Every {
		flags |= unix.O_DSYNC
	}
	// On a block device O_EXCL asks whether the kernel uses it (open(2)).
	if device && writes && !destroy {
		flags |= unix.O_EXCL
	}
	fd, err := unix.Open(s.Path, flags, 0)
	switch {
	case device && errors.Is(err, unix.EBUSY):
		return nil, ErrInUse
	case s.Direct && errors.Is(err, unix.EINVAL):
		return nil, fmt.Errorf("%w: %w", ErrNoDirect, err)
	case err != nil:
		return nil, err
	}
	if err := sameFile(fd, st); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	t := &Target{Path: s.Path, Size: unit.Bytes(st.Size()), Device: device, file: descriptor(fd)}
	if device {
		if t.Size, err = deviceSize(fd); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// sameFile refuses an open file that is not the one that was looked at: somebody
// has put another in its place meanwhile, and it may be a device.
func sameFile(fd int, looked os.FileInfo) error {
	// A second descriptor, so that the file that looks can be closed.
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("look at what was opened: %w", err)
	}
	f := os.NewFile(uintptr(other), looked.Name())
	st, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("look at what was opened: %w", err)
	}
	if !os.SameFile(st, looked) {
		return errReplaced
	}
	return nil
}

// deviceSize asks a block device: BLKGETSIZE64 (include/uapi/linux/fs.h).
func deviceSize(fd int) (unit.Bytes, error) {
	var n uint64
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.BLKGETSIZE64, uintptr(unsafe.Pointer(&n))); no != 0 {
		return 0, fmt.Errorf("read size of device: %w", no)
	}
	return unit.Bytes(n), nil
}

func (d descriptor) handle() int32 { return int32(d) }
func (d descriptor) close() error  { return unix.Close(int(d)) }

func (d descriptor) readAt(b []byte, off int64) int32 {
	return result(unix.Pread(int(d), b, off))
}

func (d descriptor) writeAt(b []byte, off int64) int32 {
	return result(unix.Pwrite(int(d), b, off))
}

func (d descriptor) sync(data bool) int32 {
	if data {
		return result(0, unix.Fdatasync(int(d)))
	}
	return result(0, unix.Fsync(int(d)))
}

// result is a count, or an error number below 0.
func result(n int, err error) int32 {
	var no unix.Errno
	switch {
	case err == nil:
		return int32(n)
	case errors.As(err, &no):
		return -int32(no)
	}
	return -int32(unix.EIO)
}

func errorOf(number int) error { return unix.Errno(number) }

// Fetched is what this process has read from devices and servers so far, page
// cache left out (read_bytes of /proc/self/io, proc(5)); below 0: not known.
func Fetched() unit.Bytes {
	b, err := kernel.Root("/").ReadFile("/proc/self/io")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "read_bytes: "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64); err == nil {
				return unit.Bytes(n)
			}
		}
	}
	return -1
}

// Dirty is how much of this host's page cache waits to be written out, or is being
// (Dirty, Writeback and NFS_Unstable of /proc/meminfo, proc(5)), whoever wrote it; below 0:
// not known.
func Dirty() unit.Bytes {
	b, err := kernel.Root("/").ReadFile("/proc/meminfo")
	if err != nil {
		return -1
	}
	sum, seen := unit.Bytes(0), false
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "Dirty" && name != "Writeback" && name != "NFS_Unstable" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return -1
		}
		sum, seen = sum+unit.Bytes(n)*unit.KiB, seen || name == "Dirty"
	}
	if !seen {
		return -1
	}
	return sum
}

// WrittenOut is how much this host has written out of its page cache since its start, whoever
// wrote it (nr_written of /proc/vmstat: folio_end_writeback, mm/page-writeback.c); below 0: not
// known.
func WrittenOut() unit.Bytes {
	b, err := kernel.Root("/").ReadFile("/proc/vmstat")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if pages, ok := strings.CutPrefix(line, "nr_written "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(pages), 10, 64)
			if err != nil {
				return -1
			}
			return unit.Bytes(n) * unit.Bytes(os.Getpagesize())
		}
	}
	return -1
}

// notAccounted are file systems whose reads do not count as read_bytes of the
// process that asks, since they come neither from a block device (submit_bio,
// block/blk-core.c) nor by a client that counts for itself (nfs_readahead,
// fs/nfs/read.c): magic numbers of statfs(2).
var notAccounted = []int64{0x65735546 /* FUSE */, 0x01021997 /* 9P */, 0x00c0ffee /* hostfs */, 0x786f4256 /* VirtualBox */}

// accounted tells whether Fetched sees what is read of the target.
func (t *Target) accounted() bool {
	var st unix.Statfs_t
	if t.Device {
		return true
	}
	return unix.Fstatfs(int(t.fd()), &st) == nil && !slices.Contains(notAccounted, int64(st.Type))
}

// Occupied is the room that a file takes on its file system (st_blocks, in 512
// bytes as stat(2) has it); below 0: not known, or a device.
func (t *Target) Occupied() unit.Bytes {
	var st unix.Stat_t
	if t.Device || t.abandoned.Load() || unix.Fstat(int(t.fd()), &st) != nil {
		return -1
	}
	return unit.Bytes(st.Blocks) * 512
}

// forget asks the kernel by posix_fadvise, DONTNEED.
func (t *Target) forget() error {
	if err := t.sync(); err != nil {
		return err
	}
	if err := unix.Fadvise(int(t.fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("drop the page cache of %s: %w", t.Path, err)
	}
	return nil
}

// Holes are the parts of a workload's area that were never written: reading
// them moves nothing. A device, and a file system that does not tell, has none.
func (t *Target) Holes(s Spec) ([]Span, error) {
	if t.Device {
		return nil, nil
	}
	fd, at, end := int(t.fd()), int64(s.From), int64(s.From+s.Shape.Area)
	var holes []Span
	for at < end {
		data, err := unix.Seek(fd, at, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO): // no data from here on
			data = end
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("look for holes in %s: %w", t.Path, err)
		}
		if data = min(data, end); data > at {
			holes = append(holes, Span{unit.Bytes(at), unit.Bytes(data - at)})
		}
		if data == end {
			break
		}
		if at, err = unix.Seek(fd, data, unix.SEEK_HOLE); err != nil {
			return nil, fmt.Errorf("look for holes in %s: %w", t.Path, err)
		}
	}
	return holes, nil
}
