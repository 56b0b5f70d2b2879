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

// lines stores values in a temporary file, as compressed lines of JSON, so that memory does not grow
// with their number. The file is unlinked while it is open: it goes with the process. Several
// goroutines may call add. The zero value is empty.
type lines[T any] struct {
	mu   sync.Mutex
	f    *os.File
	z    *zstd.Encoder // compresses the frame that is being written; nil: no frame is open
	size int64         // bytes in the file
	n    int64         // lines that were stored
	out  int64         // lines that could not be stored
	err  error         // the first error of add
}

// mostLines bounds the file, in bytes, because a bundle takes no larger one (store's maxSamples). The
// file can exceed it by what the open frame has not written yet.
const mostLines = 192 << 20

var errManyLines = fmt.Errorf("they would take more than %d MiB", mostLines>>20)

// add appends a line and returns true. After an error it only counts what was not stored.
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

// begin opens a frame; the first call creates the file.
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

// toFile appends the bytes of a frame to the file.
type toFile[T any] lines[T]

// Write implements io.Writer.
func (t *toFile[T]) Write(b []byte) (int, error) {
	n, err := t.f.WriteAt(b, t.size)
	t.size += int64(n)
	return n, err
}

// end closes the open frame, after which all lines can be read. The caller holds l.mu.
func (l *lines[T]) end() error {
	if l.z == nil {
		return nil
	}
	err := l.z.Close()
	l.z = nil
	return err
}

// all returns a reader of what the file has now. Lines that are added later are not part of it.
func (l *lines[T]) all() (*io.SectionReader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.end(); err != nil || l.f == nil {
		return io.NewSectionReader(l.f, 0, 0), err
	}
	return io.NewSectionReader(l.f, 0, l.size), nil
}

// copyTo copies the file, still compressed, to w.
func (l *lines[T]) copyTo(w io.Writer) error {
	r, err := l.all()
	if err == nil {
		_, err = io.Copy(w, r)
	}
	return err
}

// each decodes the lines in the order in which they were added.
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

// close frees the file's space, after which l is empty again.
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
