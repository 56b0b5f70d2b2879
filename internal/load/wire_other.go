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
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
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

func (w *wire) unacked() int64     { return 0 }
func (w *wire) recvSpace() int64   { return 0 }
func (w *wire) congestion() string { return "" }

func (s *Spec) socketOptions() func(network, address string, c syscall.RawConn) error {
	if s.CC == "" && s.SendBuffer == 0 && s.RecvBuffer == 0 && s.MaxPacing == 0 {
		return nil
	}
	return func(_, _ string, _ syscall.RawConn) error {
		return Refuse("set congestion control, buffers or pacing of a socket: unsupported on %s; leave them to the host", runtime.GOOS)
	}
}

func newBuffer(n int) ([]byte, error) { return make([]byte, n), nil }

func freeBuffer([]byte) error { return nil }

func pinThread(cpu int) error {
	return fmt.Errorf("pin thread to CPU %d: unsupported on %s; run without named CPUs", cpu, runtime.GOOS)
}

func threadID() int { return 0 }
