//go:build !linux && !windows

package block

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// descriptor is an open file, which several threads may read and write at once.
type descriptor struct{ *os.File }

// openPlain opens a file and tells which one it has opened.
func openPlain(s Spec, writes bool) (openFile, fs.FileInfo, error) {
	if s.Direct {
		return nil, nil, fmt.Errorf("%w: it is built for Linux and Windows only", ErrNoDirect)
	}
	if s.Sync == Every {
		return nil, nil, errors.New("synchronous I/O is built for Linux and Windows only")
	}
	flags := os.O_RDONLY
	if writes {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(s.Path, flags, 0)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return descriptor{f}, st, nil
}

func (d descriptor) handle() int32 { return -1 }
func (d descriptor) close() error  { return d.Close() }

func (d descriptor) readAt(b []byte, off int64) int32  { return result(d.ReadAt(b, off)) }
func (d descriptor) writeAt(b []byte, off int64) int32 { return result(d.WriteAt(b, off)) }
func (d descriptor) sync(bool) int32                   { return result(0, d.Sync()) }

// processCPU is what this process has taken in user mode and in the kernel.
func processCPU() (user, system time.Duration, err error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0, fmt.Errorf("read own CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano()), nil
}
