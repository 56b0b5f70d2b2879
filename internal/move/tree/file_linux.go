package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/beneath"
)

// file is an open file of a tree.
type file struct {
	t      *Tree
	e      *move.Entry
	fd     handle
	direct handle // the same past the page cache
	past   atomic.Bool
	passes bool      // the cache keeps nothing of it, though it is read through the cache
	joined sync.Once // a block with more extents than one may have was reported
}

// Open implements move.Source.
func (t *Tree) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := t.open(ctx, e)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (t *Tree) open(ctx context.Context, e *move.Entry) (*file, error) {
	w, rel, ok := t.locate(e.Path)
	if !ok {
		return nil, fmt.Errorf("%s is not of this tree", move.Quote(e.Path))
	}
	// O_NONBLOCK: a fifo that took the file's place since must not stop us.
	fd, err := opened(ctx, w.fd, rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	out := &file{t: t}
	out.fd.hold(fd)
	if out.e, err = settled(ctx, fd); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	if out.e.Kind != move.File {
		return nil, errors.Join(fmt.Errorf("it is a %v now", out.e.Kind), out.Close())
	}
	out.e.ID, out.e.Path, out.e.First, out.e.Linked = e.ID, e.Path, e.First, e.Linked
	if !t.o.Plan {
		if out.e.Xattrs, err = xattrsOf(fd, t.lostXattr(e.Path)); err != nil {
			t.report.Lose(move.LostXattr, e.Path, "list: %v", err)
		}
	}
	if t.o.Cold {
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
			return nil, errors.Join(fmt.Errorf("drop the cache: %w", err), out.Close())
		}
	}
	if t.o.Direct && (out.e.Size >= directFrom || t.o.Cold) {
		if fd, err := beneath.Open(w.fd, rel, unix.O_RDONLY|unix.O_DIRECT, 0); err == nil {
			out.direct.hold(fd)
			if same, err := statEntry(fd, ""); err != nil || same.Node != out.e.Node {
				return nil, errors.Join(move.ErrChanged, err, out.Close())
			}
			out.past.Store(true)
		}
	}
	cached := !out.past.Load()
	out.passes = cached && t.o.Direct && out.e.Size >= directFrom
	if cached && out.e.Size > move.PackSize {
		_ = unix.Fadvise(fd, 0, 0, unix.FADV_SEQUENTIAL) // advice
	}
	return out, nil
}

// clockTick is more than kernels take from one time stamp of files to the next (10 ms with
// HZ=100).
const clockTick = 20 * time.Millisecond

// On a mount of SMB a file with several names cannot be opened by one while it is open by another
// (Linux 6.1 asks with one lease for all names, which servers refuse): it is tried again so often.
const (
	otherNameEvery = 50 * time.Millisecond
	otherNameTries = 200
)

// opened opens a file below root; where it is open by another of its names, once it is closed.
func opened(ctx context.Context, root int, path string, flags int) (int, error) {
	for try := 0; ; try++ {
		fd, err := beneath.Open(root, path, flags, 0)
		if !errors.Is(err, unix.EINVAL) || try == otherNameTries || !onSMB(root) {
			return fd, err
		}
		select {
		case <-time.After(otherNameEvery):
		case <-ctx.Done():
			return -1, ctx.Err()
		}
	}
}

// onSMB tells whether a directory is on a mount of SMB.
func onSMB(dir int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(dir, &st) != nil {
		return false
	}
	kind := int64(uint32(st.Type))
	return kind == unix.SMB2_SUPER_MAGIC || kind == unix.CIFS_SUPER_MAGIC
}

// settled looks at a file once it has not been changed for clockTick: a further change then
// has another time, and is seen. One that goes on being changed is not waited for.
func settled(ctx context.Context, fd int) (*move.Entry, error) {
	for try := 0; ; try++ {
		e, err := statEntry(fd, "")
		if err != nil {
			return nil, err
		}
		age := time.Since(time.Unix(e.Ctime.Sec, e.Ctime.Nsec))
		if age < 0 || age >= clockTick || try == 3 {
			return e, nil
		}
		select {
		case <-time.After(clockTick - age):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Entry implements move.SourceFile.
func (f *file) Entry() *move.Entry { return f.e }

// FD is the open file until it is closed, for those who can have its data without reading them.
func (f *file) FD() int { return f.fd.fd }

// all tells whether the whole range counts: nothing is missing, or it is to be proven.
func (f *file) all() bool { return !f.e.Sparse || f.t.o.Verify == move.Full }

// Next implements move.SourceFile.
func (f *file) Next(index int64) (int64, error) {
	if index >= move.Blocks(f.e.Size) {
		return 0, io.EOF
	}
	if f.all() {
		return index, nil
	}
	at, err := f.fd.seek(index*move.BlockSize, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO) || err == nil && at >= f.e.Size:
		return 0, io.EOF
	case errors.Is(err, unix.EINVAL):
		return index, nil // the file system knows no holes
	case err != nil:
		return 0, fmt.Errorf("seek data: %w", err)
	}
	return at / move.BlockSize, nil
}

// extents are the data of a range: all of it where the file system knows no holes.
func (f *file) extents(at, end int64) ([]move.Extent, error) {
	if !f.e.Sparse {
		return []move.Extent{{Offset: at, Length: end - at}}, nil
	}
	var out []move.Extent
	for from := at; from < end; {
		data, err := f.fd.seek(from, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break
		}
		if errors.Is(err, unix.EINVAL) {
			return []move.Extent{{Offset: at, Length: end - at}}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("seek data: %w", err)
		}
		if data >= end {
			break
		}
		hole, err := f.fd.seek(data, unix.SEEK_HOLE)
		if err != nil || hole <= data {
			return nil, errors.Join(move.ErrChanged, err)
		}
		hole = min(hole, end)
		out = append(out, move.Extent{Offset: data, Length: hole - data})
		from = hole
	}
	if len(out) > move.MaxExtents {
		f.joined.Do(func() { f.t.report.Lose(move.LostHole, f.e.Path, "more than %d in 4 MiB", move.MaxExtents) })
		last := out[len(out)-1]
		out = []move.Extent{{Offset: out[0].Offset, Length: last.Offset + last.Length - out[0].Offset}}
	}
	return out, nil
}

// Read implements move.SourceFile.
func (f *file) Read(ctx context.Context, index int64, buf []byte) (move.Block, error) {
	if err := ctx.Err(); err != nil {
		return move.Block{}, err
	}
	at, end := index*move.BlockSize, min(f.e.Size, (index+1)*move.BlockSize)
	extents, err := f.extents(at, end)
	if err != nil {
		return move.Block{}, err
	}
	b := move.Block{Index: index}
	if f.e.Sparse && f.t.o.Verify == move.Full {
		if err := f.readAt(buf[:end-at], at); err != nil {
			return b, err
		}
		b.Extents, b.Data = proof(extents, at, buf[:end-at])
	} else {
		n := int64(0)
		for _, x := range extents {
			if err := f.readAt(buf[n:n+x.Length], x.Offset); err != nil {
				return b, err
			}
			n += x.Length
		}
		b.Extents, b.Data = extents, buf[:n]
	}
	if f.passes {
		_ = f.fd.use(func(fd int) error { return unix.Fadvise(fd, at, end-at, unix.FADV_DONTNEED) }) // advice
	}
	b.Seal(f.t.o.Verify)
	return b, nil
}

// readAt fills p, past the cache where p, the offset and the file system allow it.
func (f *file) readAt(p []byte, at int64) error {
	if f.past.Load() && len(p)%4096 == 0 && at%4096 == 0 {
		n, err := f.direct.readAt(p, at)
		if err == nil {
			return nil
		}
		if errors.Is(err, unix.EINVAL) {
			f.past.Store(false) // the buffer, or a device with larger sectors
		} else if n < len(p) && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read at %d: %w", at, err)
		}
	}
	n, err := f.fd.readAt(p, at)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return move.ErrChanged // it was cut
	}
	return fmt.Errorf("read at %d: %w", at, err)
}

// Changed implements move.SourceFile. It asks the server of a mount anew.
func (f *file) Changed() error {
	var st unix.Statx_t
	if err := f.fd.use(func(fd int) error { return statx(fd, "", unix.AT_STATX_FORCE_SYNC, &st) }); err != nil {
		return fmt.Errorf("look at it again: %w", err)
	}
	if identityOf(&st) != f.e.Identity() {
		return move.ErrChanged
	}
	return nil
}

// Close implements move.SourceFile.
func (f *file) Close() error {
	return errors.Join(f.fd.close(), f.direct.close())
}
