package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// acceptAll listens until every stream has a proven connection, and then no
// more.
func (w *load) acceptAll(ctx context.Context, s *session) error {
	lc := net.ListenConfig{Control: w.spec.socketOptions(), KeepAlive: -1}
	lc.SetMultipathTCP(false) // it is TCP that is measured
	ln, err := lc.Listen(ctx, "tcp", netip.AddrPortFrom(w.spec.Bind, w.spec.Port).String())
	if err != nil {
		return fmt.Errorf("listen on data address: %w", err)
	}
	d := &door{spec: w.spec, proof: w.lim.proof, proven: make([]net.Conn, w.spec.Streams), full: make(chan struct{})}
	var wg sync.WaitGroup
	failed := make(chan error, 1)
	wg.Go(func() { failed <- d.acceptLoop(ln, &wg) })
	addr, err := netip.ParseAddrPort(ln.Addr().String())
	if err == nil {
		err = w.stage.Listening(addr)
	}
	if err == nil {
		select {
		case <-d.full:
		case err = <-failed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	err = errors.Join(err, ln.Close())
	conns := d.shut()
	wg.Wait()
	s.refused, s.evicted = d.refused, d.evicted
	if err != nil {
		for _, c := range conns {
			err = errors.Join(err, c.Close())
		}
		return err
	}
	return s.take(conns)
}

// door lets proven connections in. It never waits for one of them while
// another knocks, and never holds more than the cap.
type door struct {
	spec  Spec
	proof time.Duration
	full  chan struct{} // closed once every stream has its connection

	mu      sync.Mutex
	pending []net.Conn // not yet proven, oldest first
	proven  []net.Conn // by stream number
	count   int        // of proven
	closed  bool
	refused int
	evicted int
}

// acceptLoop ends with the listener. An error of accept that does not go away
// (no descriptors left) ends it too.
func (d *door) acceptLoop(ln net.Listener, wg *sync.WaitGroup) error {
	for failures := 0; ; {
		c, err := ln.Accept()
		if err == nil {
			failures = 0
			if d.admit(c) {
				wg.Go(func() { d.prove(c) })
			}
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if failures++; failures > 100 {
			return fmt.Errorf("accept connections: %w", err)
		}
		time.Sleep(10 * time.Millisecond) // what is short now (descriptors) may come back
	}
}

// admit notes an unproven connection. At the cap the oldest unproven one has
// to go: whoever holds connections open and says nothing cannot keep the
// run's own out, since those prove themselves within a round trip.
func (d *door) admit(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.count == len(d.proven) {
		c.Close()
		return false
	}
	if len(d.pending)+d.count >= d.spec.maxConns() {
		d.pending[0].Close()
		d.pending = d.pending[1:]
		d.evicted++
	}
	d.pending = append(d.pending, c)
	return true
}

func (d *door) prove(c net.Conn) {
	err := c.SetDeadline(time.Now().Add(d.proof))
	if err == nil {
		err = d.check(c)
	}
	if err != nil {
		d.forget(c)
		c.Close()
	}
}

func (d *door) check(c net.Conn) error {
	stream, proof, err := challenge(c, rand.Reader, d.spec.Token)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || uint64(stream) >= uint64(len(d.proven)) || d.proven[stream] != nil || !d.drop(c) {
		return fmt.Errorf("no place for stream %d", stream)
	}
	// The proof is short enough for any send buffer, so that sending it
	// under the lock holds nobody up.
	if _, err := c.Write(proof[:]); err != nil {
		return fmt.Errorf("send proof: %w", err)
	}
	if err := c.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("clear deadline: %w", err)
	}
	d.proven[stream] = c
	d.count++
	if d.count == len(d.proven) {
		close(d.full)
	}
	return nil
}

// drop takes c out of the unproven; false if it had been evicted.
func (d *door) drop(c net.Conn) bool {
	for i, p := range d.pending {
		if p == c {
			d.pending = append(d.pending[:i], d.pending[i+1:]...)
			return true
		}
	}
	return false
}

// forget counts a connection that failed to prove itself, unless it was we
// who closed it.
func (d *door) forget(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drop(c) {
		d.refused++
	}
}

// shut closes what is unproven and hands the proven connections over.
func (d *door) shut() []net.Conn {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, c := range d.pending {
		c.Close()
	}
	d.pending = nil
	var out []net.Conn
	for _, c := range d.proven {
		if c != nil {
			out = append(out, c)
		}
	}
	return out
}
