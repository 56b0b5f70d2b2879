package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// written is a connection that keeps what is written.
type written struct {
	net.Conn
	bytes.Buffer
}

func (w *written) Write(b []byte) (int, error)      { return w.Buffer.Write(b) }
func (w *written) Read(b []byte) (int, error)       { return w.Buffer.Read(b) }
func (w *written) SetWriteDeadline(time.Time) error { return nil }

// framesOf is the stream of a frame with long data and one without any, and those data; after is
// where the first one ends.
func framesOf(t *testing.T, plain bool) (text, data []byte, after int) {
	t.Helper()
	w := &written{}
	c := framed(t, w, plain)
	data = pattern(MaxData)
	for _, f := range []frame{{kind: kindMem, meta: pattern(50), data: data}, {kind: kindEnd}} {
		if err := c.send(f); err != nil {
			t.Fatal(err)
		}
		if after == 0 {
			after = w.Len()
		}
	}
	return w.Bytes(), data, after
}

// framed is a stream over c whose keys everybody in these tests has.
func framed(t *testing.T, c net.Conn, plain bool) *Conn {
	t.Helper()
	if plain {
		return newConn(c, c, 1, [32]byte{}, [32]byte{})
	}
	r, err := newRecords(c, suites()["AES-128-GCM"], pattern(16), pattern(16))
	if err != nil {
		t.Fatal(err)
	}
	return newConn(r, c, 1, [32]byte{}, [32]byte{})
}

// dialled is a connection of TCP.
func dialled(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = out.Close(), in.Close() })
	return out.(*net.TCPConn), in.(*net.TCPConn)
}

// ask is what the kernel says of a socket.
func ask(t *testing.T, c *net.TCPConn, f func(fd int) (int, error)) (n int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		cerr := raw.Control(func(fd uintptr) { n, err = f(int(fd)) })
		err = errors.Join(err, cerr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// markOf is a socket's low water.
func markOf(t *testing.T, c *net.TCPConn) int {
	t.Helper()
	return ask(t, c, func(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT) })
}

func bufferOf(t *testing.T, c *net.TCPConn) int {
	t.Helper()
	return ask(t, c, func(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF) })
}

// until waits for what a goroutine does soon.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for by := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(by) {
			t.Fatal("never:", what)
		}
	}
}

// got is what a stream brought.
type got struct {
	k    kind
	data []byte
	err  error
}

// take receives frames until one has none.
func take(c *Conn, out chan<- got) {
	for {
		k, _, n, err := c.receive()
		data := make([]byte, n)
		if err == nil && n > 0 {
			err = c.data(data)
		}
		out <- got{k, data, err}
		if err != nil {
			return
		}
	}
}

// ways are how a stream goes.
var ways = map[string]bool{"encrypted": false, "plain": true}

// A long frame and the short one behind it arrive, in whatever pieces they come, and whoever sends
// stops after each until it was read.
func TestLongFramesArriveInAnyPieces(t *testing.T) {
	for name, plain := range ways {
		text, data, after := framesOf(t, plain)
		for what, cuts := range map[string][]int{
			"whole":                  {},
			"long, then short":       {after},
			"all but the last byte":  {after - 1, after},
			"all but the last kB":    {after - 1000, after},
			"all but its last 70 kB": {after - 70_000, after - 10, after},
			"in its head":            {10, 200, 5000, after},
			"half":                   {after / 2, after},
			"with the short one's":   {after - 1, after + 1},
			"in the first record":    {300_000, 300_001, 600_000, 1_000_000, 1_048_700, 1_048_800, after - 300_000},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				near, far := dialled(t)
				c := framed(t, near, plain)
				out := make(chan got, 3)
				go take(c, out)
				at := 0
				for _, to := range append(slices.Clone(cuts), len(text)) {
					if _, err := far.Write(text[at:to]); err != nil {
						t.Fatal(err)
					}
					until(t, "all that was sent is read, or waits below the mark", func() bool { return taken(t, near, far) })
					at = to
				}
				if g := <-out; g.err != nil || g.k != kindMem || !bytes.Equal(g.data, data) {
					t.Errorf("the long one: %d bytes, %v", len(g.data), g.err)
				}
				if g := <-out; g.err != nil || g.k != kindEnd {
					t.Errorf("the short one: %v", g.err)
				}
			})
		}
	}
}

// taken tells whether who reads near has taken all that was sent, but for what its mark leaves.
func taken(t *testing.T, near, far *net.TCPConn) bool {
	t.Helper()
	return ask(t, far, func(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.SIOCOUTQ) }) == 0 && pending(t, near) < markOf(t, near)
}

// pending is how many bytes a socket holds.
func pending(t *testing.T, c *net.TCPConn) int {
	t.Helper()
	return ask(t, c, func(fd int) (int, error) { return unix.IoctlGetInt(fd, unix.SIOCINQ) })
}

// Whoever waits in the middle of a long frame waits for much of it at once, and hears of the end,
// a reset, a deadline and a stop as ever.
func TestWhoeverWaitsInALongFrameHearsOfItsEnd(t *testing.T) {
	for name, plain := range ways {
		text, _, after := framesOf(t, plain)
		for what, end := range map[string]struct {
			do   func(c *Conn, far *net.TCPConn)
			want error
		}{
			"end":      {func(_ *Conn, far *net.TCPConn) { _ = far.CloseWrite() }, io.ErrUnexpectedEOF},
			"reset":    {func(_ *Conn, far *net.TCPConn) { _, _ = far.SetLinger(0), far.Close() }, syscall.ECONNRESET},
			"deadline": {func(c *Conn, _ *net.TCPConn) { _ = c.c.SetReadDeadline(time.Now()) }, os.ErrDeadlineExceeded},
			"stop":     {func(c *Conn, _ *net.TCPConn) { c.stop() }, os.ErrDeadlineExceeded},
			"close":    {func(c *Conn, _ *net.TCPConn) { _ = c.Close() }, net.ErrClosed},
		} {
			for _, left := range []int{1, 1000, 40_000, 700_000} {
				near, far := dialled(t)
				c := framed(t, near, plain)
				out := make(chan got, 1)
				go take(c, out)
				if _, err := far.Write(text[:after-left]); err != nil {
					t.Fatal(err)
				}
				much := left > 4*lowLeast && bufferOf(t, near) >= lowPart*lowLeast
				until(t, "it waits for no more than is missing, and for much of that", func() bool {
					m := markOf(t, near)
					return taken(t, near, far) && m <= left+pending(t, near) && (!much || m > 1)
				})
				end.do(c, far)
				g := <-out
				var op *net.OpError
				if !errors.Is(g.err, end.want) || !broken(g.err) {
					t.Errorf("%s, %s, %d bytes before the end: %v, want %v", name, what, left, g.err, end.want)
				}
				if errors.As(g.err, &op) && op.Op != "read" {
					t.Errorf("%s, %s: %v", name, what, g.err)
				}
			}
		}
	}
}

// A mark above what a buffer can hold would never be reached, and one above half of it makes the
// buffer larger.
func TestASmallReceiveBufferStaysAsItIs(t *testing.T) {
	for name, plain := range ways {
		text, data, _ := framesOf(t, plain)
		for _, size := range []int{100_000, 300_000} {
			near, far := dialled(t)
			if err := near.SetReadBuffer(size); err != nil {
				t.Fatal(err)
			}
			before := bufferOf(t, near)
			out := make(chan got, 3)
			go take(framed(t, near, plain), out)
			go func() { _, _ = far.Write(text) }() // who reads tells what is wrong
			if g := <-out; g.err != nil || !bytes.Equal(g.data, data) {
				t.Errorf("%s, a buffer of %d: %d bytes, %v", name, size, len(g.data), g.err)
			}
			if g := <-out; g.err != nil || g.k != kindEnd {
				t.Errorf("%s, a buffer of %d: %v", name, size, g.err)
			}
			if now, mark := bufferOf(t, near), markOf(t, near); now != before || mark > max(1, before/lowPart) {
				t.Errorf("%s: a buffer of %d became %d, its mark %d", name, before, now, mark)
			}
		}
	}
}

// An interrupted copy ends while blocks come that its other end never finishes.
func TestACopyIsInterruptedWithinARecord(t *testing.T) {
	for name, plain := range ways {
		t.Run(name, func(t *testing.T) {
			near, far := dialled(t)
			c := framed(t, near, plain)
			text, _, after := framesOf(t, plain)
			if _, err := far.Write(text[:after-move.BlockSize/8]); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			r := &receiver{side: side{stats: &Stats{}, party: given{c}}, files: map[uint64]*takenFile{}}
			done := make(chan error, 1)
			go func() { done <- r.stream(ctx, ctx, 1) }()
			until(t, "it waits for much", func() bool { return markOf(t, near) > 1 || bufferOf(t, near) < lowPart*lowLeast })
			cancel(errOver)
			if err := <-done; !errors.Is(err, errOver) && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
		})
	}
}

// given is a party of one stream.
type given struct{ c *Conn }

func (g given) Stream(context.Context, uint32) (*Conn, error) { return g.c, nil }
func (given) Close() error                                    { return nil }
