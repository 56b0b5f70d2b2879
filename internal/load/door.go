package load

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// door lets proven connections in. It never waits for one of them while
// another knocks, and never holds more than the cap.
type door struct {
	spec  Spec
	proof time.Duration
	full  chan struct{} // closed once every stream has its connection

	mu      sync.Mutex
	pending []knock    // not yet proven, oldest first
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

// knock is a connection that has not yet proven itself, and where it comes from.
type knock struct {
	conn net.Conn
	from netip.Prefix
}

// source is the address of a peer, of IPv6 its /64: who has one has them all.
func source(c net.Conn) netip.Prefix {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	a, bits := at.Addr().Unmap().WithZone(""), 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// expected tells whether the run's own source may come from there.
func (d *door) expected(from netip.Prefix) bool {
	return d.spec.From.IsValid() && from.Contains(d.spec.From.Unmap())
}

// admit notes an unproven connection. Whoever holds connections open and says nothing
// cannot keep the run's own out: no other source than the expected one holds more than a
// quarter of the places, and at the cap one of others goes before one of that. Among
// connections from where the run's own comes the oldest goes: the run's own proves itself
// within a round trip.
func (d *door) admit(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.count == len(d.proven) {
		c.Close()
		return false
	}
	k := knock{c, source(c)}
	if n := d.held(k.from); !d.expected(k.from) && n >= max(1, d.spec.maxConns()/4) {
		d.evict(func(other knock) bool { return other.from == k.from })
	} else if len(d.pending)+d.count >= d.spec.maxConns() {
		worst := d.worst()
		d.evict(func(other knock) bool { return other.from == worst })
	}
	d.pending = append(d.pending, k)
	return true
}

// held is how many unproven connections a source has.
func (d *door) held(from netip.Prefix) (n int) {
	for _, k := range d.pending {
		if k.from == from {
			n++
		}
	}
	return n
}

// worst is the source that has the most unproven connections, of several the one with the
// oldest; the expected source only where there is no other.
func (d *door) worst() (from netip.Prefix) {
	most := 0
	for _, k := range d.pending {
		n := d.held(k.from)
		if d.expected(k.from) {
			n = 0
		}
		if n > most || from == (netip.Prefix{}) && most == 0 {
			from, most = k.from, n
		}
	}
	return from
}

// evict lets the oldest of some connections go, and tells it why.
func (d *door) evict(of func(knock) bool) {
	i := slices.IndexFunc(d.pending, of)
	if i < 0 {
		return
	}
	c := d.pending[i].conn
	d.pending = slices.Delete(d.pending, i, i+1)
	d.evicted++
	// Who does not read it would learn nothing; it waits for nobody.
	_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
	_, _ = c.Write([]byte(busy))
	c.Close()
}

// crowd adds to what ended the wait how many came that were not the run's own.
func (d *door) crowd(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused+d.evicted == 0 {
		return err
	}
	return fmt.Errorf("%w; meanwhile %d connections did not prove the token and %d gave way to others: something else connects to this port", err, d.refused, d.evicted)
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
		if p.conn == c {
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
	for _, k := range d.pending {
		k.conn.Close()
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
