package wire

import (
	"net"
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
