package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Bounds of a low water, in bytes. The kernel would make the receive buffer larger for one of
// half of it (tcp_set_rcvlowat), and so cure the very window that may hold a copy back; and what
// waits below the mark takes room in the window.
const (
	lowMost  = 256 << 10
	lowLeast = 4 << 10 // less is not worth the call
	lowPart  = 16      // of the receive buffer, at most
)

// lowWater is how many bytes a socket has to hold before a reader is woken (SO_RCVLOWAT). The
// kernel also wakes it at the connection's end, at an error, and where the window is full.
type lowWater struct {
	raw  syscall.RawConn // nil: no socket of TCP
	mark int             // what the socket has; 1: any byte
	most int             // lowMost, or 1 where the system has refused

	// Of the read under way.
	into []byte
	need int
	n    int
	err  error
}

func lowWaterOf(c net.Conn) lowWater {
	w := lowWater{mark: 1, most: lowMost}
	if t, ok := c.(*net.TCPConn); ok {
		if raw, err := t.SyscallConn(); err == nil { // else it is closed, which its Read tells
			w.raw = raw
		}
	}
	return w
}

// read reads what is there, and waits where that is nothing.
func (w *lowWater) read(c net.Conn, p []byte, need int) (int, error) {
	if w.raw == nil || len(p) == 0 {
		return c.Read(p)
	}
	w.into, w.need, w.n, w.err = p, need, 0, nil
	err := w.raw.Read(w.ready)
	w.into = nil
	if err == nil && w.err != nil {
		err = &net.OpError{Op: "read", Net: c.RemoteAddr().Network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: w.err}
	}
	var op *net.OpError
	switch {
	case errors.As(err, &op):
		op.Op = "read" // and not "raw-read"
		return 0, err
	case err != nil:
		return 0, err
	case w.n == 0:
		return 0, io.EOF
	}
	return w.n, nil
}

// ready tells whether the read is done; else it is called again once the socket is readable. The
// mark is only looked at where the reader is about to wait: a busy socket costs no call.
func (w *lowWater) ready(fd uintptr) bool {
	if w.recv(int(fd)) {
		return true
	}
	want := w.wanted(int(fd))
	if want == w.mark {
		return false
	}
	if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, want); err != nil {
		if w.mark == 1 {
			w.most = 1
			return false
		}
		w.err = os.NewSyscallError("setsockopt", err) // less than the mark would never be read
		return true
	}
	w.mark = want
	// What came between the two calls woke nobody on kernels before 4.18.
	return w.recv(int(fd))
}

func (w *lowWater) recv(fd int) (done bool) {
	for {
		n, err := unix.Read(fd, w.into)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return false
		case err != nil:
			w.err = os.NewSyscallError("read", err)
			return true
		}
		w.n = n
		return true
	}
}

// wanted is the mark for what is missing: never more than that.
func (w *lowWater) wanted(fd int) int {
	want := min(w.need, w.most)
	if want < lowLeast {
		return 1
	}
	buf, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 1
	}
	if want = min(want, buf/lowPart); want < lowLeast {
		return 1
	}
	return want
}
