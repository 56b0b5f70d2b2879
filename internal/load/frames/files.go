package frames

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"linerate/internal/load/ring"
)

// files are one stream's, and the mover of its frames.
type files struct {
	spec    Spec
	path    string // the file, or the directory of a file per frame
	one     *os.File
	record  bool
	memory  []byte
	rng     *rand.PCG
	stream  int
	making  time.Duration // spent on the content of frames
	working atomic.Int64  // the frame that is being moved, from 1; 0: none
	since   atomic.Int64  // when that began, nanoseconds since 1970
}

// newFiles makes a stream's files to record to.
func newFiles(s Spec, root string, stream int) (f *files, err error) {
	f = &files{spec: s, path: filepath.Join(root, fmt.Sprintf("stream-%02d", stream)), record: true, stream: stream,
		rng: rand.NewPCG(s.Run, uint64(stream))}
	if f.memory, err = ring.Memory(int(s.memory())); err != nil {
		return nil, fmt.Errorf("get memory of stream %d: %w", stream, err)
	}
	for i := 0; i+8 <= len(f.memory); i += 8 {
		binary.LittleEndian.PutUint64(f.memory[i:], f.rng.Uint64())
	}
	if s.PerFrame {
		err = os.Mkdir(f.path, 0o700)
	} else {
		f.one, err = openFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, s.Direct)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make file of stream %d: %w", stream, err), ring.Free(f.memory))
	}
	return f, nil
}

// frameFile is the file of a frame that has one of its own.
func (f *files) frameFile(k int) string { return filepath.Join(f.path, fmt.Sprintf("%07d.frame", k)) }

// move implements mover.
func (f *files) move(k int) error {
	f.since.Store(time.Now().UnixNano())
	f.working.Store(int64(k) + 1)
	defer f.working.Store(0)
	size := int(f.spec.Stride())
	if f.record {
		return f.put(k, f.content(k, size))
	}
	return f.get(k, f.memory[:size])
}

// content is a frame that no other frame of any run equals: a piece of random
// data from another place each time, with a stamp on each 4 KiB.
func (f *files) content(k, size int) []byte {
	began := time.Now()
	from := int(f.rng.Uint64()%uint64(slack/align+1)) * align
	b := f.memory[from : from+size]
	for at := 0; at+24 <= size; at += align {
		binary.LittleEndian.PutUint64(b[at:], f.spec.Run)
		binary.LittleEndian.PutUint64(b[at+8:], uint64(f.stream)<<48|uint64(k))
		binary.LittleEndian.PutUint64(b[at+16:], uint64(at))
	}
	f.making += time.Since(began)
	return b
}

func (f *files) put(k int, b []byte) (err error) {
	if !f.spec.PerFrame {
		_, err = f.one.WriteAt(b, int64(k)*int64(len(b)))
		return err
	}
	file, err := openFile(f.frameFile(k), os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.spec.Direct)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(b, 0)
	return errors.Join(err, file.Close())
}

func (f *files) get(k int, b []byte) error {
	if !f.spec.PerFrame {
		return whole(f.one.ReadAt(b, int64(k)*int64(len(b))))(len(b))
	}
	file, err := openFile(f.frameFile(k), os.O_RDONLY, f.spec.Direct)
	if err != nil {
		return err
	}
	err = whole(file.ReadAt(b, 0))(len(b))
	return errors.Join(err, file.Close())
}

// whole wants all that was asked for.
func whole(n int, err error) func(want int) error {
	return func(want int) error {
		if n == want {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%d of %d bytes: %w", n, want, io.ErrUnexpectedEOF)
		}
		return err
	}
}

// sync makes durable what the stream has recorded.
func (f *files) sync() error { return f.each((*os.File).Sync) }

// forget has the page cache drop it.
func (f *files) forget() error { return f.each(forget) }

func (f *files) each(do func(*os.File) error) error {
	if !f.spec.PerFrame {
		return do(f.one)
	}
	return filepath.WalkDir(f.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(do(file), file.Close())
	})
}

func (f *files) close() error {
	err := ring.Free(f.memory)
	if f.one != nil {
		err = errors.Join(err, f.one.Close())
	}
	return err
}
