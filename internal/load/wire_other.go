//go:build !linux

package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"linerate/internal/unit"
)

const canDiscard = false

// errEnded: the peer closed or reset the connection.
var errEnded = errors.New("peer ended the connection")

const pollFor = 50 * time.Millisecond

// wire is a connected TCP socket served by Go's poller.
type wire struct{ c net.Conn }

// newWire takes the connection over.
func newWire(c net.Conn) (*wire, error) { return &wire{c: c}, nil }

func (w *wire) send(b []byte) (int, error) {
	if err := w.c.SetWriteDeadline(time.Now().Add(pollFor)); err != nil {
		return 0, fmt.Errorf("set write deadline: %w", err)
	}
	n, err := w.c.Write(b)
	return n, ending(err)
}

func (w *wire) recv(b []byte, _ bool) (int, error) {
	if err := w.c.SetReadDeadline(time.Now().Add(pollFor)); err != nil {
		return 0, fmt.Errorf("set read deadline: %w", err)
	}
	n, err := w.c.Read(b)
	return n, ending(err)
}

func ending(err error) error {
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), wasCut(err):
		return errEnded
	}
	return err
}

// nagle turns Nagle's algorithm on, which Go's dialer turns off.
func (w *wire) nagle() error {
	t, ok := w.c.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("turn Nagle's algorithm on: %T is no TCP connection", w.c)
	}
	if err := t.SetNoDelay(false); err != nil {
		return fmt.Errorf("turn Nagle's algorithm on: %w", err)
	}
	return nil
}

// close resets the connection, which drops whatever is queued.
func (w *wire) close() {
	if t, ok := w.c.(*net.TCPConn); ok {
		// A reset that cannot be asked for is a close all the same.
		_ = t.SetLinger(0)
	}
	_ = w.c.Close()
}

// unacked and recvSpace are not told here: the bytes of both ends are compared on Linux alone.
func (w *wire) unacked() int64   { return 0 }
func (w *wire) recvSpace() int64 { return 0 }

// congestion is the congestion control in force, empty if the system does not say.
func (w *wire) congestion() string {
	cc := ""
	_ = w.control(func(fd uintptr) error { cc = congestionOf(fd); return nil }) // of a closed one it is not known
	return cc
}

func (w *wire) control(f func(fd uintptr) error) error {
	c, ok := w.c.(syscall.Conn)
	if !ok {
		return fmt.Errorf("reach socket: %T has no descriptor", w.c)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return controlled(raw, f)
}

func controlled(c syscall.RawConn, f func(fd uintptr) error) error {
	var err error
	if cerr := c.Control(func(fd uintptr) { err = f(fd) }); cerr != nil {
		return cerr
	}
	return err
}

// socketOptions returns a net.Dialer.Control that asks for the congestion control, the buffers and
// the pacing before the handshake, as far as the system has them.
func (s *Spec) socketOptions() func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		return controlled(c, s.setOptions)
	}
}

func (s *Spec) setOptions(fd uintptr) error {
	if s.CC != "" {
		if err := setCongestion(fd, s.CC); err != nil {
			return Refuse("set congestion control %q: %v", s.CC, err)
		}
	}
	if s.MaxPacing > 0 {
		if err := setPacing(fd, int(min(s.MaxPacing/8, 1<<31-1))); err != nil {
			return Refuse("pace a socket: %v", err)
		}
	}
	for _, o := range []struct {
		name string
		size unit.Bytes
		set  func(fd uintptr, bytes int) error
	}{{"send buffer", s.SendBuffer, setSendBuffer}, {"receive buffer", s.RecvBuffer, setRecvBuffer}} {
		if o.size <= 0 {
			continue
		}
		if err := o.set(fd, int(o.size)); err != nil {
			return fmt.Errorf("set %s of socket to %d bytes: %w", o.name, o.size, err)
		}
	}
	return nil
}

// lacking is what to answer where the system has no such option for a socket.
func lacking(what string) error {
	return fmt.Errorf("%s has no option for %s of a socket; leave it to the host", runtime.GOOS, what)
}

func newBuffer(n int) ([]byte, error) { return make([]byte, n), nil }

func freeBuffer([]byte) error { return nil }

func pinThread(cpu int) error {
	return fmt.Errorf("pin thread to CPU %d: unsupported on %s; run without named CPUs", cpu, runtime.GOOS)
}

func threadID() int { return 0 }
