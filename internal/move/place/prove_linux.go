package place

import (
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// prove reads what was written again past the cache, if that was asked for and was not done before.
func (f *file) prove() error {
	if f.p.o.Verify != move.Full {
		return nil
	}
	f.proving.Lock()
	defer f.proving.Unlock()
	f.proveAll(f.unproven(false), never)
	return f.refuted
}

// provers read blocks of a file again at once: one is hashed while others are on their way from the disk.
const provers = 4

// proveBuffers are the buffers of a block each with which all files of a place are read again.
const proveBuffers = 8

// proveAhead reads blocks that are durable again, beside the writing of others; f.syncing is held, and
// the file is open.
func (f *file) proveAhead() {
	if f.p.o.Verify != move.Full || f.shut.Load() || !f.proving.TryLock() {
		return
	}
	go func() {
		defer f.proving.Unlock()
		f.proveAll(f.unproven(true), f.shut.Load)
	}()
}

// unproven are the blocks that were not read again yet, of the durable ones or of all.
func (f *file) unproven(durable bool) (list []written) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.blocks {
		if !w.proven && (w.durable || !durable) {
			list = append(list, w)
		}
	}
	sortBlocks(list)
	return list
}

// proveAll reads blocks again until stop, unless one before was not as written; f.proving is held.
func (f *file) proveAll(list []written, stop func() bool) {
	if f.refuted == nil {
		f.refuted = f.readBack(list, stop, f.proven)
	}
}

// proven notes that a block was read again and is as it was written.
func (f *file) proven(w written) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.blocks[w.index]; now.hash == w.hash && (now.durable || !w.durable) { // not written once more
		now.proven = true
		f.blocks[w.index] = now
	}
}

// never stops nothing.
func never() bool { return false }

// readBack reads blocks of a durable file from its target, not from this host's cache, and
// compares them until stop: with O_DIRECT where the file system has it, else after dropping the cache.
// It calls good for each that is as it was written, from several goroutines.
func (f *file) readBack(blocks []written, stop func() bool, good func(written)) error {
	dir, name := f.d.fd, f.temp
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("read again: %w", err)
	}
	defer unix.Close(fd)
	direct, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		direct = -1
		if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("drop the cache: %w", err)
		}
	} else {
		defer unix.Close(direct)
	}
	var g errgroup.Group
	var taken atomic.Int64
	var failed atomic.Bool
	for range min(provers, len(blocks)) {
		g.Go(func() error {
			f.p.buffers <- struct{}{} // who has one waits for the disk alone
			defer func() { <-f.p.buffers }()
			buf, err := unix.Mmap(-1, 0, move.BlockSize+sector, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			if err != nil {
				return fmt.Errorf("read again: %w", err)
			}
			defer func() { _ = unix.Munmap(buf) }()   // nothing else uses it
			_ = unix.Madvise(buf, unix.MADV_HUGEPAGE) // fewer to pin at each read; a system without them has small ones
			for i := taken.Add(1) - 1; i < int64(len(blocks)) && !failed.Load() && !stop(); i = taken.Add(1) - 1 {
				if err := f.readOne(fd, direct, buf, blocks[i]); err == nil {
					good(blocks[i])
				} else if failed.CompareAndSwap(false, true) { // one place of a disk counts once
					return f.p.sinkError(err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// readOne reads a block again and compares it.
func (f *file) readOne(fd, direct int, buf []byte, w written) error {
	f.p.at("prove")
	data, err := readExtents(fd, direct, buf, f.extents(w.index, w.extents))
	if err != nil {
		return fmt.Errorf("read again at %d: %w", w.index*move.BlockSize, err)
	}
	if move.Sum(f.p.o.Verify, f.extents(w.index, w.extents), data) != w.hash {
		return fmt.Errorf("block %d at %d: the target holds something else than was written", w.index, w.index*move.BlockSize)
	}
	return nil
}

// readExtents reads the extents of a block one after another into buf. A range between two
// sectors is read with them and moved to its place.
func readExtents(fd, direct int, buf []byte, extents []move.Extent) ([]byte, error) {
	n := int64(0)
	for _, x := range extents {
		if direct >= 0 && len(extents) == 1 {
			from := x.Offset / sector * sector
			to := (x.Offset + x.Length + sector - 1) / sector * sector
			got, err := pread(direct, buf[:to-from], from)
			if err == nil && int64(got) >= x.Offset+x.Length-from {
				copy(buf, buf[x.Offset-from:x.Offset-from+x.Length])
				return buf[:x.Length], nil
			}
			if err == nil {
				return nil, errors.New("it is shorter than was written")
			}
			if !errors.Is(err, unix.EINVAL) {
				return nil, err
			}
		}
		if err := unix.Fadvise(fd, x.Offset, x.Length, unix.FADV_DONTNEED); err != nil {
			return nil, err
		}
		got, err := pread(fd, buf[n:n+x.Length], x.Offset)
		if err != nil {
			return nil, err
		}
		if int64(got) < x.Length {
			return nil, errors.New("it is shorter than was written")
		}
		n += x.Length
	}
	return buf[:n], nil
}

func pread(fd int, p []byte, at int64) (int, error) {
	n := 0
	for n < len(p) {
		m, err := unix.Pread(fd, p[n:], at+int64(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return n, err
		}
		if m == 0 {
			break
		}
		n += m
		if m%sector != 0 {
			break // the end, which O_DIRECT does not read past
		}
	}
	return n, nil
}
