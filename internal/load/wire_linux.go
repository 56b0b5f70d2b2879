package load

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
)

const canDiscard = true

// errEnded: the peer closed or reset the connection.
var errEnded = errors.New("peer ended the connection")

// pollFor is how long a thread waits for an idle socket before it looks
// whether it was told to stop.
const pollFor = 50 * time.Millisecond

// holdFor bounds one blocking send or receive. Such a call is made without
// telling the scheduler, which is what makes it cheap, and so holds up a
// stop-the-world for as long as it blocks: that long and no longer.
const holdFor = 2 * time.Millisecond

// wire is a connected TCP socket in blocking mode with send and receive
// timeouts, outside Go's poller.
//
// SO_RCVLOWAT is left alone although it would save wakeups: setting it grows
// the receive buffer (tcp_set_rcvlowat in net/ipv4/tcp.c), and so would cure
// the very receive window that is to be diagnosed; it also makes a source at
// full speed look application-limited.
type wire struct{ fd int }

// newWire takes the connection over; c is closed when it succeeds.
func newWire(c net.Conn) (*wire, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("take over connection: %T has no descriptor", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("take over connection: %w", err)
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return nil, fmt.Errorf("take over connection: %w", err)
	}
	if dupErr != nil {
		return nil, fmt.Errorf("take over connection: %w", dupErr)
	}
	w := &wire{fd: fd}
	if err := errors.Join(w.prepare(), c.Close()); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *wire) prepare() error {
	tv := unix.NsecToTimeval(holdFor.Nanoseconds())
	err := errors.Join(
		unix.SetsockoptTimeval(w.fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv),
		unix.SetsockoptTimeval(w.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv),
		unix.SetNonblock(w.fd, false),
	)
	if err != nil {
		return fmt.Errorf("set socket timeouts: %w", err)
	}
	return nil
}

// send writes some of b. It returns 0 and no error when the socket stayed
// full for a while.
func (w *wire) send(b []byte) (int, error) {
	return w.done(unix.POLLOUT, rawCall(unix.SYS_SENDTO, w.fd, b, unix.MSG_NOSIGNAL))
}

// recv reads some data into b, or with discard drops it in the kernel. It
// returns 0 and no error when there was none for a while, and errEnded at
// the end.
func (w *wire) recv(b []byte, discard bool) (int, error) {
	flags := 0
	if discard {
		flags = unix.MSG_TRUNC
	}
	r := rawCall(unix.SYS_RECVFROM, w.fd, b, flags)
	if r.errno == 0 && r.n == 0 {
		return 0, errEnded
	}
	return w.done(unix.POLLIN, r)
}

type callResult struct {
	n     int
	errno unix.Errno
}

func rawCall(call uintptr, fd int, b []byte, flags int) callResult {
	n, _, e := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(flags), 0, 0)
	if e != 0 {
		return callResult{errno: e}
	}
	return callResult{n: int(n)}
}

func (w *wire) done(event int16, r callResult) (int, error) {
	switch r.errno {
	case 0:
		return r.n, nil
	case unix.EINTR:
		return 0, nil
	case unix.EAGAIN:
		return 0, w.wait(event)
	case unix.ECONNRESET, unix.EPIPE:
		return 0, errEnded
	}
	return 0, r.errno
}

// wait blocks in poll, and tells the scheduler so.
func (w *wire) wait(event int16) error {
	p := []unix.PollFd{{Fd: int32(w.fd), Events: event}}
	_, err := unix.Poll(p, int(pollFor.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for socket: %w", err)
	}
	return nil
}

// nagle turns Nagle's algorithm on, which Go's dialer turns off.
func (w *wire) nagle() error {
	if err := unix.SetsockoptInt(w.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 0); err != nil {
		return fmt.Errorf("turn Nagle's algorithm on: %w", err)
	}
	return nil
}

// close resets the connection, which drops whatever is queued.
func (w *wire) close() {
	if w.fd < 0 {
		return
	}
	// A reset that cannot be asked for is a close all the same.
	_ = unix.SetsockoptLinger(w.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	_ = unix.Close(w.fd)
	w.fd = -1
}

// unacked is what was written and not acknowledged (SIOCOUTQ), 0 if the
// kernel does not say.
func (w *wire) unacked() int64 {
	n, err := unix.IoctlGetInt(w.fd, unix.SIOCOUTQ)
	if err != nil {
		return 0
	}
	return int64(n)
}

func (w *wire) recvSpace() int64 {
	n, err := unix.GetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err != nil {
		return 0
	}
	return int64(n)
}

// congestion is the congestion control in force, empty if the kernel does
// not say.
func (w *wire) congestion() string {
	cc, err := unix.GetsockoptString(w.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return ""
	}
	return cc
}

// socketOptions returns a net.Dialer.Control that asks for the congestion
// control, the buffers and the pacing before the handshake.
func (s *Spec) socketOptions() func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if cerr := c.Control(func(fd uintptr) { err = s.setOptions(int(fd)) }); cerr != nil {
			return cerr
		}
		return err
	}
}

func (s *Spec) setOptions(fd int) error {
	if s.CC != "" {
		if err := unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, s.CC); err != nil {
			return Refuse("set congestion control %q: %v; this host has: %s", s.CC, err, congestionControls())
		}
	}
	for _, o := range []struct {
		name  string
		opt   int
		value int
	}{
		{"send buffer", unix.SO_SNDBUF, int(s.SendBuffer)},
		{"receive buffer", unix.SO_RCVBUF, int(s.RecvBuffer)},
		{"pacing rate", unix.SO_MAX_PACING_RATE, int(min(s.MaxPacing/8, 1<<32-2))},
	} {
		if o.value <= 0 {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, o.opt, o.value); err != nil {
			return fmt.Errorf("set %s of socket to %d bytes: %w", o.name, o.value, err)
		}
	}
	return nil
}

// congestionControls is the list for an error message.
func congestionControls() string {
	b, err := kernel.Root("/").ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return "unknown, " + err.Error()
	}
	if len(b) > 0 && b[len(b)-1] == '\n' {
		b = b[:len(b)-1]
	}
	return string(b)
}

// newBuffer maps n bytes, already faulted in and out of the collector's sight.
func newBuffer(n int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", n, err)
	}
	return b, nil
}

func freeBuffer(b []byte) error { return unix.Munmap(b) }

func pinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin thread to CPU %d: %w", cpu, err)
	}
	return nil
}

func threadID() int { return unix.Gettid() }
