package place

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// allocate gives a file that was just made its size, and its space where it has no holes.
func (f *file) allocate() error {
	if f.e.Size == 0 {
		return nil
	}
	// A question less, and of SMB five: its client flushes the file, makes it sparse at the server, and asks.
	if f.grows = !f.e.Sparse && f.d.remote; f.grows {
		return nil
	}
	// A server may fill the room of a large file before it answers, and nothing is written meanwhile.
	if !f.e.Sparse && f.e.Size > move.PackSize && !f.d.remote {
		err := unix.Fallocate(f.fd, 0, 0, f.e.Size)
		if err == nil || !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if !f.e.Sparse && f.e.Size <= move.PackSize {
		return nil // one write makes its size
	}
	return unix.Ftruncate(f.fd, f.e.Size)
}

// reached notes how far the file was written.
func (f *file) reached(end int64) {
	for was := f.end.Load(); was < end && !f.end.CompareAndSwap(was, end); was = f.end.Load() {
	}
}

// fill gives a file that its writes made its size, where it ends with a hole that came meanwhile.
func (f *file) fill() error {
	if !f.grows || f.end.Load() >= f.e.Size {
		return nil
	}
	if err := unix.Ftruncate(f.fd, f.e.Size); err != nil {
		return fmt.Errorf("make its size: %w", f.p.sinkError(err))
	}
	return nil
}

// fits tells whether a file of a size may be what an earlier run left: on a mount its writes made its
// size, and the last of them may be missing.
func (f *file) fits(size int64, was *journal.File) bool {
	f.grows = !f.e.Sparse && f.d.remote
	if !f.grows {
		return size == f.e.Size
	}
	last := int64(0)
	for i := range was.Blocks {
		last = max(last, i)
	}
	return size <= f.e.Size && size >= min(f.e.Size, (last+1)*move.BlockSize)
}

// mapping is a large file on a mount, as memory that nobody touches: nil where it cannot be mapped.
type mapping []byte

// mapped maps an open file of a size, which it need not have yet. It is done before anything is written:
// a client may ask its server meanwhile, and write what it has of the file, and all of this process that
// wants memory then waits for it.
func mapped(fd int, size int64) mapping {
	b, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

// sync makes a range of the file durable. fdatasync would wait for data of the whole file, and go on to wait
// for what others write to it meanwhile: until they stop. msync waits for its range alone, and then has the
// server make durable what it has of the file.
func (m mapping) sync(fd int, from, n int64) error {
	if from >= int64(len(m)) {
		return unix.Fdatasync(fd)
	}
	return unix.Msync(m[from:min(from+n, int64(len(m)))], unix.MS_SYNC)
}

// close ends it; the file is closed by itself.
func (m mapping) close() error {
	if m == nil {
		return nil
	}
	return unix.Munmap(m)
}
