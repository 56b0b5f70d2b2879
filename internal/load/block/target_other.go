//go:build !linux

package block

import (
	"errors"
	"io"
	"os"
	"syscall"

	"linerate/internal/unit"
)

func openTarget(s Spec, writes, _ bool) (*Target, error) {
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
	f, opened, err := openPlain(s, writes)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(opened, st) {
		return nil, errors.Join(errReplaced, f.close())
	}
	return &Target{Path: s.Path, Size: unit.Bytes(st.Size()), file: f}, nil
}

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
