package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"linerate/internal/unit"
)

// Bounds of the search for a file to read, and of reading.
const (
	maxEntries  = 20000
	findTime    = 2 * time.Second
	candidates  = 8       // of which the first that may be read is taken
	smallest    = 1 << 20 // below that a read is over before it can be timed
	directBlock = 8 << 20 // one O_DIRECT read: large enough for every disk of an array to have a part
	keepDefault = 256 << 20
	// readBlock is one read through the page cache. It is what cp reads in (coreutils
	// 9.5, src/ioblksize.h): a larger one would hide a read-ahead that is too small for
	// the delay, for the kernel asks at once for all that a read wants.
	readBlock = 256 << 10
)

// fileRead reads one file from its start on, in order.
type fileRead struct {
	spec  ReadSpec
	f     *os.File
	buf   []byte
	about Alone
}

func (r *fileRead) prepare(ctx context.Context) (Alone, error) {
	if err := r.open(ctx); err != nil {
		return Alone{}, err
	}
	r.about.Cached = cachedShare(r.f, r.about.Size)
	r.about.ReadAhead = readAhead(r.f)
	size := readBlock
	switch r.spec.Cache {
	case Direct:
		if err := setDirect(r.f); err != nil {
			return Alone{}, fmt.Errorf("read %s past the page cache: %w", r.about.File, err)
		}
		size, r.about.Method = directBlock, "read past the page cache (O_DIRECT)"
	case Dropped:
		if err := r.drop(); err != nil {
			return Alone{}, err
		}
	case Kept:
		r.about.Method = "second read of what the first left in the page cache"
	}
	r.about.Block = int64(size)
	var err error
	r.buf, err = newBuffer(size)
	return r.about, err
}

// drop has the kernel forget the file's clean pages. It says how much stayed:
// pages that are dirty, mapped by others or the storage itself (tmpfs) do.
func (r *fileRead) drop() error {
	if err := dropCache(r.f); err != nil {
		return fmt.Errorf("have %s dropped from the page cache: %w", r.about.File, err)
	}
	r.about.Method = "read after the page cache was told to drop the file (fadvise DONTNEED)"
	if left := cachedShare(r.f, r.about.Size); left != nil && *left > 0.01 {
		r.about.Method += fmt.Sprintf("; %.0f%% of it stayed", *left*100)
	}
	return nil
}

// open finds and opens the file.
func (r *fileRead) open(ctx context.Context) error {
	if r.spec.File != "" {
		return r.openFile(r.spec.File)
	}
	if info, err := os.Lstat(r.spec.Dir); err == nil && info.Mode().IsRegular() {
		return r.openFile(r.spec.Dir) // the backing file of a LUN
	}
	found, err := largest(ctx, r.spec.Dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range found {
		err := r.openFile(f.path)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("find a file to read below %s: %w", r.spec.Dir, errors.Join(errs...))
}

func (r *fileRead) openFile(path string) error {
	// Looked at before it is opened: opening a device can be an act.
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("find the file to read: %w", err)
	}
	if !r.allowed(info.Mode()) {
		return fmt.Errorf("read %s: it is no regular file (%s)", path, info.Mode().Type())
	}
	f, err := openQuietly(path)
	if err != nil {
		return fmt.Errorf("open the file to read: %w", err)
	}
	size, err := r.sizeOf(f)
	if err == nil && size < smallest {
		err = fmt.Errorf("read %s: %v are over before they can be timed; name a larger file", path, unit.Bytes(size))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r.f, r.about.File, r.about.Size = f, path, size
	return nil
}

// allowed: regular files, and block devices where one was named. Whatever else
// there is may act when it is read.
func (r *fileRead) allowed(m fs.FileMode) bool {
	return m.IsRegular() || r.spec.Device && m&fs.ModeDevice != 0 && m&fs.ModeCharDevice == 0
}

// sizeOf what was opened; a device's is where its end is.
func (r *fileRead) sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !r.allowed(info.Mode()) {
		return 0, fmt.Errorf("read %s: it is no regular file any more", f.Name())
	}
	if info.Mode().IsRegular() {
		return info.Size(), nil
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, fmt.Errorf("find the size of %s: %w", f.Name(), err)
	}
	return size, nil
}

type sized struct {
	path string
	size int64
}

// largest lists the largest regular files below dir, the largest first. It
// follows no symbolic link, stays on dir's file system, and gives up its search
// (not its findings) after maxEntries or findTime.
func largest(ctx context.Context, dir string) ([]sized, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("find a file to read below %s: %w", dir, cmp.Or(err, errors.New("no directory")))
	}
	root := filepath.Clean(dir)
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real // the export itself may be a link
	}
	until, seen := time.Now().Add(findTime), 0
	var found []sized
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		seen++
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case seen > maxEntries || time.Now().After(until):
			return fs.SkipAll
		case err != nil:
			return nil // what may not be listed is not read
		case d.IsDir() && p != root && !sameDevice(root, p):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() >= smallest {
			found = append(found, sized{p, info.Size()})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find a file to read below %s: none of at least %v among the first %d names; name one with --file", dir, unit.Bytes(smallest), seen)
	}
	slices.SortFunc(found, func(a, b sized) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.path, b.path)) })
	return found[:min(len(found), candidates)], nil
}

func (r *fileRead) move(ctx context.Context, until time.Time) (Result, error) {
	most := r.about.Size
	if r.spec.Readers > 1 {
		return r.moveMany(ctx, until)
	}
	if r.spec.Cache == Kept {
		most = min(most, cmp.Or(int64(r.spec.MaxBytes), keepDefault))
		first, err := r.pass(ctx, until, most)
		if err != nil {
			return Result{}, err
		}
		until, most = time.Now().Add(maxSecondPass), first.Bytes
		if _, err := r.f.Seek(0, io.SeekStart); err != nil {
			return Result{}, fmt.Errorf("read %s again: %w", r.about.File, err)
		}
	}
	res, err := r.pass(ctx, until, most)
	if err == nil && res.Bytes == 0 {
		err = fmt.Errorf("read %s: it is empty now", r.about.File)
	}
	return res, err
}

// maxSecondPass bounds the timed part of Kept.
const maxSecondPass = 2 * time.Second

// pass reads on until a time, most bytes or the end of the file.
func (r *fileRead) pass(ctx context.Context, until time.Time, most int64) (Result, error) {
	var res Result
	start := time.Now()
	for {
		if ctx.Err() != nil {
			return res, context.Cause(ctx)
		}
		n, err := r.f.Read(r.buf)
		res.Bytes += int64(n)
		now := time.Now()
		res.Window = now.Sub(start)
		switch {
		case errors.Is(err, io.EOF):
			res.Early = true
			return res, nil
		case err != nil:
			return res, fmt.Errorf("read %s: %w", r.about.File, err)
		case res.Bytes >= most:
			res.Early = now.Before(until)
			return res, nil
		case !now.Before(until):
			return res, nil
		}
	}
}

func (r *fileRead) close() error {
	var err error
	if r.buf != nil {
		err = freeBuffer(r.buf)
	}
	if r.f != nil {
		err = errors.Join(err, r.f.Close())
	}
	return err
}
