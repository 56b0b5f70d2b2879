package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Party is one end's way to get the streams of the run: it dials them, or lets them in.
type Party interface {
	// Stream is stream n, which both ends ask for once. It waits until the other end does.
	Stream(ctx context.Context, n uint32) (*Conn, error)
	// Close ends the way, not the streams.
	Close() error
}

// Dialler is the end that dials.
type Dialler struct {
	Keys *Keys
	// Connect makes a connection to the other end's port.
	Connect func(ctx context.Context) (net.Conn, error)
	// Ahead data streams are opened once the control stream is connected, and before anybody asks
	// for them: their round trips pass meanwhile.
	Ahead int

	early  [MaxStreams + 1]chan early // of those that were
	cancel context.CancelFunc
	over   sync.WaitGroup
}

// early is a stream that was opened ahead, or why it was not.
type early struct {
	c   *Conn
	err error
}

// keepAlive ends a connection whose peer is gone within a minute, also where it is idle.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 9}

// connectTime bounds one connect: a port that a firewall drops answers nothing.
const connectTime = 5 * time.Second

// To connects to a port.
func To(addr netip.AddrPort, from netip.Addr) func(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTime, KeepAliveConfig: keepAlive}
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	return func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", addr.String()) }
}

// UnreachedError: there was no connection at all, which a firewall may be the cause of; the
// other end may reach this one.
type UnreachedError struct{ Err error }

// Error implements error.
func (e *UnreachedError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnreachedError) Unwrap() error { return e.Err }

// Stream implements Party. The control stream comes before all others.
func (d *Dialler) Stream(ctx context.Context, n uint32) (*Conn, error) {
	if n <= MaxStreams && d.early[n] != nil {
		select {
		case e := <-d.early[n]:
			return e.c, e.err
		case <-ctx.Done():
			return nil, fmt.Errorf("open stream %d: %w", n, context.Cause(ctx))
		}
	}
	c, err := d.Connect(ctx)
	if err != nil {
		return nil, &UnreachedError{fmt.Errorf("connect stream %d: %w", n, err)}
	}
	if n == 0 && d.cancel == nil {
		d.begin(ctx)
	}
	return d.Keys.Dial(ctx, c, n)
}

// begin opens streams ahead.
func (d *Dialler) begin(ctx context.Context) {
	ctx, d.cancel = context.WithCancel(ctx)
	for n := uint32(1); n <= uint32(min(d.Ahead, MaxStreams)); n++ {
		d.early[n] = make(chan early, 1)
		d.over.Go(func() {
			c, err := d.Connect(ctx)
			if err != nil {
				d.early[n] <- early{nil, fmt.Errorf("connect stream %d: %w", n, err)}
				return
			}
			s, err := d.Keys.Dial(ctx, c, n)
			d.early[n] <- early{s, err}
		})
	}
}

// Close implements Party. It ends streams that nobody took.
func (d *Dialler) Close() error {
	if d.cancel != nil {
		d.cancel()
	}
	d.over.Wait()
	for _, e := range d.early {
		select {
		case s := <-e:
			if s.c != nil {
				_ = s.c.Close()
			}
		default:
		}
	}
	return nil
}

// maxStrangers bounds the connections that have not proven yet what they are, and maxNamed those of them that
// have named the run and are waited for longer: all streams of a run may.
const (
	maxStrangers = 2 * maxNamed
	maxNamed     = MaxStreams
)

// Listener is the end that lets streams in: on one port, only those of its run, and each
// number once.
type Listener struct {
	keys   *Keys
	l      net.Listener
	cancel context.CancelFunc
	shown  chan struct{} // room for those that have not proven what they are
	named  chan struct{} // room for those of them that are waited for longer
	over   sync.WaitGroup
	// Strangers counts the connections that were let go.
	Strangers atomic.Int64

	mu      sync.Mutex
	streams [MaxStreams + 1]chan *Conn
	taken   [MaxStreams + 1]bool
}

// Listen binds a port; 0 is any.
func Listen(addr netip.AddrPort, k *Keys) (*Listener, error) {
	c := net.ListenConfig{KeepAliveConfig: keepAlive}
	ctx, cancel := context.WithCancel(context.Background())
	l, err := c.Listen(ctx, "tcp", addr.String())
	if err != nil {
		cancel()
		return nil, fmt.Errorf("listen for the data of a copy: %w", err)
	}
	out := &Listener{keys: k, l: l, cancel: cancel, shown: make(chan struct{}, maxStrangers), named: make(chan struct{}, maxNamed)}
	for i := range out.streams {
		out.streams[i] = make(chan *Conn, 1)
	}
	out.over.Go(func() { out.accept(ctx) })
	return out, nil
}

// Addr is where it listens.
func (l *Listener) Addr() netip.AddrPort {
	a, ok := l.l.Addr().(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return a.AddrPort()
}

func (l *Listener) accept(ctx context.Context) {
	for {
		c, err := l.l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed) || ctx.Err() != nil:
			return
		case err != nil: // of one connection, or of too many open files
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case l.shown <- struct{}{}:
		default: // so many at once are no run's
			l.Strangers.Add(1)
			_ = c.Close()
			continue
		}
		l.over.Go(func() {
			defer func() { <-l.shown }()
			l.let(ctx, c)
		})
	}
}

// let lets a connection in that proves to be of the run, and whose number is free.
func (l *Listener) let(ctx context.Context, c net.Conn) {
	s, err := l.keys.accept(ctx, c, l.named)
	if err != nil {
		l.Strangers.Add(1)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken[s.n] {
		l.Strangers.Add(1)
		_ = s.Close()
		return
	}
	l.taken[s.n] = true
	l.streams[s.n] <- s
}

// Stream implements Party.
func (l *Listener) Stream(ctx context.Context, n uint32) (*Conn, error) {
	if n > MaxStreams {
		return nil, fmt.Errorf("stream %d, want at most %d", n, MaxStreams)
	}
	select {
	case s := <-l.streams[n]:
		return s, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for stream %d: %w", n, context.Cause(ctx))
	}
}

// Close implements Party. It waits for the handshakes under way, and ends streams that
// nobody took.
func (l *Listener) Close() error {
	l.cancel()
	err := l.l.Close()
	l.over.Wait()
	for _, s := range l.streams {
		select {
		case c := <-s:
			_ = c.Close()
		default:
		}
	}
	return err
}
