package copy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// lines are values as lines of JSON, compressed, in a temporary file that has no name any more:
// memory does not grow with them. Several goroutines may add. The zero value is empty.
type lines[T any] struct {
	mu   sync.Mutex
	f    *os.File
	z    *zstd.Encoder // of the frame that is being written; nil: none is
	size int64         // bytes of the file
	n    int64         // lines of the file
	out  int64         // that did not get there
	err  error         // why not
}

// mostLines bounds the file, in bytes: a bundle holds no larger one (store's maxSamples), and what a
// frame holds back comes on top.
const mostLines = 192 << 20

var errManyLines = fmt.Errorf("they would take more than %d MiB", mostLines>>20)

// add appends a line. One that does not get there is counted, and the error kept.
func (l *lines[T]) add(v T) (there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.write(v)
	}
	if l.err != nil {
		l.out++
		return false
	}
	l.n++
	return true
}

func (l *lines[T]) write(v T) error {
	if l.size > mostLines {
		return errManyLines
	}
	if l.z == nil {
		if err := l.begin(); err != nil {
			return err
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.z.Write(append(b, '\n'))
	return err
}

// begin begins a frame, and the file with the first.
func (l *lines[T]) begin() (err error) {
	if l.f == nil {
		if l.f, err = os.CreateTemp("", "linerate-lines-*"); err != nil {
			return err
		}
		if err := os.Remove(l.f.Name()); err != nil {
			return err
		}
	}
	l.z, err = zstd.NewWriter((*toFile[T])(l), zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
	return err
}

// toFile takes what a frame has.
type toFile[T any] lines[T]

// Write implements io.Writer.
func (t *toFile[T]) Write(b []byte) (int, error) {
	n, err := t.f.WriteAt(b, t.size)
	t.size += int64(n)
	return n, err
}

// end ends the frame, so that all lines can be read; l.mu is held.
func (l *lines[T]) end() error {
	if l.z == nil {
		return nil
	}
	err := l.z.Close()
	l.z = nil
	return err
}

// all is the file; copyTo and each read it. Lines that are added afterwards come behind.
func (l *lines[T]) all() (*io.SectionReader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.end(); err != nil || l.f == nil {
		return io.NewSectionReader(l.f, 0, 0), err
	}
	return io.NewSectionReader(l.f, 0, l.size), nil
}

// copyTo hands over the lines as they are in the file.
func (l *lines[T]) copyTo(w io.Writer) error {
	r, err := l.all()
	if err == nil {
		_, err = io.Copy(w, r)
	}
	return err
}

// each reads the lines in their order.
func (l *lines[T]) each(yield func(T)) error {
	r, err := l.all()
	if err != nil || r.Size() == 0 {
		return err
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer z.Close()
	for d := json.NewDecoder(z); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		yield(v)
	}
}

// close gives the space back; it is empty then.
func (l *lines[T]) close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.end()
	if l.f != nil {
		err = errors.Join(err, l.f.Close())
	}
	l.f, l.size, l.n, l.out, l.err = nil, 0, 0, 0, nil
	return err
}
