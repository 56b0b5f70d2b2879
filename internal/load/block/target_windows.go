package block

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// descriptor is a file that was opened for overlapped I/O. Of any other, Windows serves one
// request at a time, however many threads ask, and so does os.File of each.
type descriptor struct {
	file windows.Handle
	idle chan *request // those that are over: one of each thread, so that nothing is made anew
}

// request is what Windows needs to know of one while it is under way.
type request struct {
	at   windows.Overlapped // with an event of its own, which several of a file need
	done uint32
}

// mostIdle is how many are kept.
const mostIdle = 1024

// openPlain opens a file and tells which one it has opened.
func openPlain(s Spec, writes bool) (openFile, fs.FileInfo, error) {
	path, err := windows.UTF16PtrFromString(s.Path)
	if err != nil {
		return nil, nil, err
	}
	access, flags := uint32(windows.GENERIC_READ), uint32(windows.FILE_FLAG_OVERLAPPED)
	if writes {
		access |= windows.GENERIC_WRITE
	}
	if s.Direct {
		flags |= windows.FILE_FLAG_NO_BUFFERING
	}
	if s.Sync == Every {
		flags |= windows.FILE_FLAG_WRITE_THROUGH
	}
	h, err := windows.CreateFile(path, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, flags, 0)
	switch {
	case s.Direct && errors.Is(err, windows.ERROR_INVALID_PARAMETER):
		return nil, nil, fmt.Errorf("%w: %w", ErrNoDirect, err)
	case err != nil:
		return nil, nil, err
	}
	d := descriptor{h, make(chan *request, mostIdle)}
	st, err := d.stat(s.Path)
	if err != nil {
		return nil, nil, errors.Join(err, d.close())
	}
	return d, st, nil
}

// stat looks at the open file, through a second handle, so that the one that looks can be closed.
func (d descriptor) stat(name string) (fs.FileInfo, error) {
	var other windows.Handle
	me := windows.CurrentProcess()
	if err := windows.DuplicateHandle(me, d.file, me, &other, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, fmt.Errorf("look at what was opened: %w", err)
	}
	f := os.NewFile(uintptr(other), name)
	st, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("look at what was opened: %w", err)
	}
	return st, nil
}

func (d descriptor) handle() int32 { return -1 }

func (d descriptor) close() error {
	for {
		select {
		case r := <-d.idle:
			if err := windows.CloseHandle(r.at.HEvent); err != nil {
				return err
			}
		default:
			return windows.CloseHandle(d.file)
		}
	}
}

func (d descriptor) readAt(b []byte, off int64) int32 {
	r, err := d.begin(off)
	if err == nil {
		err = windows.ReadFile(d.file, b, &r.done, &r.at)
	}
	return d.end(r, err)
}

func (d descriptor) writeAt(b []byte, off int64) int32 {
	r, err := d.begin(off)
	if err == nil {
		err = windows.WriteFile(d.file, b, &r.done, &r.at)
	}
	return d.end(r, err)
}

// begin is a request at an offset.
func (d descriptor) begin(off int64) (*request, error) {
	var r *request
	select {
	case r = <-d.idle:
	default:
		event, err := windows.CreateEvent(nil, 1, 0, nil)
		if err != nil {
			return nil, err
		}
		r = &request{at: windows.Overlapped{HEvent: event}}
	}
	// ReadFile and WriteFile reset the event.
	r.at = windows.Overlapped{Offset: uint32(off), OffsetHigh: uint32(off >> 32), HEvent: r.at.HEvent}
	r.done = 0
	return r, nil
}

// end waits for a request.
func (d descriptor) end(r *request, err error) int32 {
	if r == nil {
		return result(0, err)
	}
	if errors.Is(err, windows.ERROR_IO_PENDING) {
		err = windows.GetOverlappedResult(d.file, &r.at, &r.done, true)
	}
	if errors.Is(err, windows.ERROR_HANDLE_EOF) {
		err = nil // a short count says it
	}
	n := result(int(r.done), err)
	select {
	case d.idle <- r:
	default: // it is the last of a file of very many threads
		if err := windows.CloseHandle(r.at.HEvent); err != nil {
			return result(0, err)
		}
	}
	return n
}

func (d descriptor) sync(bool) int32 { return result(0, windows.FlushFileBuffers(d.file)) }
