package tree

import (
	"errors"
	"io"
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"
)

// handle is an open file, or none. os.File has the poller asked whether it can wait for each file,
// which for one of a few kilobytes is a good part of its reading. A read at the same time as the
// close is of this file, or fails.
type handle struct {
	mu   sync.RWMutex
	fd   int
	open bool
}

// hold takes a descriptor over.
func (h *handle) hold(fd int) { h.fd, h.open = fd, true }

// use calls f with the descriptor, which is not closed meanwhile.
func (h *handle) use(f func(fd int) error) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if !h.open {
		return fs.ErrClosed
	}
	return f(h.fd)
}

// readAt fills p, as io.ReaderAt does.
func (h *handle) readAt(p []byte, at int64) (n int, err error) {
	err = h.use(func(fd int) error {
		for n < len(p) {
			m, err := unix.Pread(fd, p[n:], at+int64(n))
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil:
				return err
			case m == 0:
				return io.EOF
			default:
				n += m
			}
		}
		return nil
	})
	return n, err
}

// seek finds data, or a hole, from an offset on.
func (h *handle) seek(from int64, whence int) (at int64, err error) {
	err = h.use(func(fd int) (err error) {
		at, err = unix.Seek(fd, from, whence)
		return err
	})
	return at, err
}

func (h *handle) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open {
		return nil
	}
	h.open = false
	return unix.Close(h.fd)
}
