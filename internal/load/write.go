package load

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"linerate/internal/load/scratch"
	"linerate/internal/unit"
)

// WriteSpec is what a Write is told.
type WriteSpec struct {
	// Dir is an absolute path of a directory that exists; a new file is made in
	// it and removed at the end.
	Dir string `json:"dir"`
	// MaxBytes bounds the file; 0 is 4 GiB. A tenth of what is free does too.
	MaxBytes unit.Bytes `json:"max_bytes,omitempty"`
}

func (w *WriteSpec) check() error {
	switch {
	case w == nil:
		return errors.New("a write needs a directory")
	case !filepath.IsAbs(w.Dir):
		return fmt.Errorf("%q is no absolute path", w.Dir)
	case w.MaxBytes < 0 || w.MaxBytes > 64*unit.GiB:
		return fmt.Errorf("%v to be written, want at most 64 GiB", w.MaxBytes)
	}
	return nil
}

// Bounds of a Write.
const (
	writeDefault = 4 << 30
	freePart     = 10       // of what is free one part may be filled
	firstChunk   = 1 << 20  // what is on its way at first
	lastChunk    = 32 << 20 // and at most: above any delay × bandwidth of a LAN
	briefChunk   = 250 * time.Millisecond
	pageStamp    = 4096 // each such part differs from every other
)

// fileWrite writes one new file in order. What it has handed to the kernel is
// kept on its way to the storage, so that little is left to flush at the end,
// and the flush is part of the time.
type fileWrite struct {
	spec  WriteSpec
	dir   *scratch.Dir
	f     *os.File
	buf   []byte
	stamp uint64
	most  int64
	about Alone
}

func (w *fileWrite) prepare(context.Context) (Alone, error) {
	if info, err := os.Stat(w.spec.Dir); err != nil || !info.IsDir() {
		return Alone{}, fmt.Errorf("write below %s: %w", w.spec.Dir, cmp.Or(err, errors.New("no directory")))
	}
	// A link may lead off the storage that is meant.
	if real, err := filepath.EvalSymlinks(w.spec.Dir); err != nil || real != filepath.Clean(w.spec.Dir) {
		return Alone{}, fmt.Errorf("write below %s: it is, or passes through, a symbolic link: name what it leads to; nothing was written", w.spec.Dir)
	}
	w.most = cmp.Or(int64(w.spec.MaxBytes), writeDefault)
	if free, ok := freeSpace(w.spec.Dir); ok {
		w.most = min(w.most, free/freePart)
		if w.most < smallest {
			return Alone{}, fmt.Errorf("write below %s: %v are free, and a tenth of that is too little to be timed; nothing was written", w.spec.Dir, unit.Bytes(free))
		}
	}
	var err error
	if w.buf, err = newBuffer(block); err != nil {
		return Alone{}, err
	}
	fill(w.buf)
	// In a directory of its own, which the next run removes if this one is killed.
	if w.dir, _, err = scratch.Make(w.spec.Dir, "write"); err != nil {
		return Alone{}, fmt.Errorf("make a file to write: %w", err)
	}
	if w.f, err = os.OpenFile(filepath.Join(w.dir.Path, "data"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return Alone{}, fmt.Errorf("make a file to write: %w", err)
	}
	w.about = Alone{File: w.f.Name(), Size: w.most,
		Method: "written to a new file in order, data that can be neither compressed nor found twice, flushed (fsync) within the time"}
	return w.about, nil
}

// fill makes data that does not compress. It need not be secret, nor the same
// in two runs.
func fill(b []byte) {
	src := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], src.Uint64())
	}
}

func (w *fileWrite) move(ctx context.Context, until time.Time) (Result, error) {
	var r Result
	start := time.Now()
	chunk, begun, synced := int64(firstChunk), int64(0), int64(0)
	for r.Bytes < w.most && time.Now().Before(until) {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		n, err := w.f.Write(w.next(w.most - r.Bytes))
		r.Bytes += int64(n)
		if err != nil {
			return r, fmt.Errorf("write %s: %w", w.about.File, err)
		}
		if r.Bytes-begun < chunk {
			continue
		}
		// The chunk before the last one has to be at the storage; the last one
		// sets out.
		asked := time.Now()
		if err := writeBack(w.f, synced, begun-synced, r.Bytes-begun); err != nil {
			return r, fmt.Errorf("write %s back: %w", w.about.File, err)
		}
		synced, begun = begun, r.Bytes
		if time.Since(asked) < briefChunk {
			chunk = min(2*chunk, lastChunk)
		}
	}
	if err := w.f.Sync(); err != nil {
		return r, fmt.Errorf("flush %s: %w", w.about.File, err)
	}
	now := time.Now()
	r.Window, r.Early = now.Sub(start), now.Before(until)
	return r, nil
}

// next is the block to write, unlike each before it.
func (w *fileWrite) next(left int64) []byte {
	for i := 0; i+8 <= len(w.buf); i += pageStamp {
		w.stamp++
		binary.LittleEndian.PutUint64(w.buf[i:], w.stamp)
	}
	return w.buf[:min(int64(len(w.buf)), left)]
}

// close removes the file, whatever became of the write.
func (w *fileWrite) close() error {
	var errs []error
	if w.f != nil {
		errs = append(errs, w.f.Close())
	}
	if w.dir != nil {
		errs = append(errs, w.dir.Remove())
	}
	if w.buf != nil {
		errs = append(errs, freeBuffer(w.buf))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove what was written: %w", err)
	}
	return nil
}
