package wire

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// patient notes until when its user waits.
type patient struct {
	net.Conn
	waits []time.Duration
}

// SetDeadline implements net.Conn.
func (p *patient) SetDeadline(t time.Time) error {
	if !t.IsZero() {
		p.waits = append(p.waits, time.Until(t))
	}
	return p.Conn.SetDeadline(t)
}

// A stranger is soon let go. An end of the run is waited for longer: where other work has taken its CPU, or
// this one's, a copy would end with a stream that the other end takes for open.
func TestAnEndOfTheRunIsWaitedForLongerThanAStranger(t *testing.T) {
	for _, plain := range []bool{false, true} {
		a, b := keysOf(t, plain)
		near, far := net.Pipe()
		go func() {
			if c, err := b.Dial(t.Context(), far, 1); err == nil {
				_, _, _, _ = c.receive() // until the near end is closed
			}
		}()
		p := &patient{Conn: near}
		c, err := a.Accept(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if len(p.waits) != 2 || p.waits[0] > helloTime || p.waits[1] < handshakeTime/2 {
			t.Errorf("plain %v: it waited for at most %v", plain, p.waits)
		}
	}
}

// Whoever has seen the run's number on the way can name it again and again: only half of the places are then
// held for long, and the others are soon free.
func TestWhoNamesTheRunCannotHoldAllPlacesForLong(t *testing.T) {
	a, b := keysOf(t, true)
	long := make(chan struct{}, 1)
	for i, want := range []int{2, 1} {
		near, far := net.Pipe()
		p := &patient{Conn: near}
		over := make(chan error, 1)
		go func() {
			_, err := a.accept(t.Context(), p, long)
			over <- err
		}()
		if _, err := far.Write(append(hello{true, 1, b.Run}.append(nil), make([]byte, nonceSize)...)); err != nil {
			t.Fatal(err)
		}
		if _, err := far.Read(make([]byte, 1)); err != nil { // it waits for the proof now
			t.Fatal(err)
		}
		if len(p.waits) != want || len(long) != 1 {
			t.Errorf("connection %d: it waits for at most %v", i, p.waits)
		}
		t.Cleanup(func() {
			_ = far.Close()
			if err := <-over; err == nil {
				t.Error("it was let in without a proof")
			}
		})
	}
	l, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"), a)
	if err != nil {
		t.Fatal(err)
	}
	if cap(l.named) < MaxStreams || cap(l.shown) < 2*cap(l.named) {
		t.Errorf("%d of %d places may be held for long", cap(l.named), cap(l.shown))
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
