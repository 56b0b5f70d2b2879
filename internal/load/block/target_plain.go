//go:build !linux && !windows

package block

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// descriptor is an open file, which several threads may read and write at once.
type descriptor struct {
	*os.File
	every bool // writes are to be durable before they complete
}

// openPlain opens a file and tells which one it has opened.
func openPlain(s Spec, writes bool) (openFile, fs.FileInfo, error) {
	flags := os.O_RDONLY
	if writes {
		flags = os.O_RDWR
	}
	if s.Direct {
		flags |= directFlag
	}
	if s.Sync == Every {
		flags |= everyFlag
	}
	f, err := os.OpenFile(s.Path, flags, 0)
	switch {
	case s.Direct && errors.Is(err, unix.EINVAL):
		return nil, nil, fmt.Errorf("%w: %w", ErrNoDirect, err)
	case err != nil:
		return nil, nil, err
	}
	if s.Direct {
		err = passCache(f)
	}
	st, serr := f.Stat()
	if err = errors.Join(err, serr); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return descriptor{f, s.Sync == Every}, st, nil
}

func (d descriptor) handle() int32 { return -1 }
func (d descriptor) close() error  { return d.Close() }

func (d descriptor) readAt(b []byte, off int64) int32 { return result(d.ReadAt(b, off)) }

func (d descriptor) writeAt(b []byte, off int64) int32 {
	n, err := d.WriteAt(b, off)
	if err == nil && d.every && everyFlag == 0 {
		err = d.Sync()
	}
	return result(n, err)
}

// sync is fsync(2), or F_FULLFSYNC on macOS, whose fsync leaves data in the disk's cache
// (os.File.Sync).
func (d descriptor) sync(bool) int32 { return result(0, d.Sync()) }
