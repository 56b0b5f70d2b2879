//go:build !linux

package block

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"linerate/internal/unit"
)

// descriptor is an open file.
type descriptor struct{ *os.File }

func openTarget(s Spec, writes, _ bool) (*Target, error) {
	if s.Direct {
		return nil, fmt.Errorf("%w: it is built for Linux only", ErrNoDirect)
	}
	if s.Sync == Every {
		return nil, errors.New("synchronous I/O is built for Linux only")
	}
	st, err := os.Stat(s.Path)
	if err != nil {
		return nil, err
	}
	device, err := kindOf(st.Mode())
	if err != nil {
		return nil, err
	}
	if device {
		return nil, errors.New("devices are built for Linux only: use a file on it")
	}
	flags := os.O_RDONLY
	if writes {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(s.Path, flags, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(opened, st) {
		if err == nil {
			err = errReplaced
		}
		return nil, errors.Join(err, f.Close())
	}
	return &Target{Path: s.Path, Size: unit.Bytes(st.Size()), file: descriptor{f}}, nil
}

func (d descriptor) handle() int32 { return -1 }
func (d descriptor) close() error  { return d.Close() }

func (d descriptor) readAt(b []byte, off int64) int32  { return result(d.ReadAt(b, off)) }
func (d descriptor) writeAt(b []byte, off int64) int32 { return result(d.WriteAt(b, off)) }
func (d descriptor) sync(bool) int32                   { return result(0, d.Sync()) }

// result is a count, or an error number below 0; the end of a file is no error
// but a short count.
func result(n int, err error) int32 {
	var no syscall.Errno
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return int32(n)
	case errors.As(err, &no) && no > 0 && no < 1<<16:
		return -int32(no)
	}
	return -5 // EIO
}

// processCPU is not told here.
func processCPU() (user, system time.Duration, err error) { return 0, 0, nil }

func errorOf(number int) error { return syscall.Errno(number) }

// Fetched is not told here.
func Fetched() unit.Bytes { return -1 }

// Dirty is not told here.
func Dirty() unit.Bytes { return -1 }

// WrittenOut is not told here.
func WrittenOut() unit.Bytes { return -1 }

func (t *Target) accounted() bool { return false }

// Occupied is not told here.
func (t *Target) Occupied() unit.Bytes { return -1 }

// forget is not to be had here.
func (t *Target) forget() error { return errors.New("this system is not asked to drop its page cache") }

// Holes are not told here.
func (t *Target) Holes(Spec) ([]Span, error) { return nil, nil }
