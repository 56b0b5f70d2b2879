package wire

import (
	"testing"
	"time"
)

// Streams over a path: what the send buffer lets each carry, and what all can, in bytes a second.
func TestStreamsGrowToWhatThePathCarries(t *testing.T) {
	for name, c := range map[string]struct {
		each, all float64
		busy      float64 // share of the time in sends
		n         int     // in the end
		within    time.Duration
		frames    bool // a stream's bytes count once a frame of 4 MiB was sent
	}{
		"send buffers hold them":        {180e6, 1.15e9, 1, 9, 4 * time.Second, false},
		"a link that two can fill":      {500e6, 1e9, 1, 5, 6 * time.Second, false},
		"a link that five can fill":     {250e6, 1.2e9, 1, 9, 4 * time.Second, false},
		"the source holds them":         {180e6, 1.15e9, 0.3, 4, 10 * time.Second, false},
		"more than any number can fill": {50e6, 1e9, 1, 16, 4 * time.Second, false},
		"each sends a frame in 0.74 s":  {5.67e6, 1e9, 1, 16, 4 * time.Second, true},
	} {
		g, now, n, over := growth{added: true}, grown{}, 4, false
		last := time.Duration(0)
		for at := lookEvery; at <= 10*time.Second && !over; at += lookEvery {
			rate, s := min(c.each*float64(n), c.all)*c.busy, lookEvery.Seconds()
			if now.sent += int64(rate * s); c.frames {
				now.sent = int64(n) * (int64(c.each*at.Seconds()) >> 22 << 22)
			}
			now.sending += time.Duration(c.busy * float64(n) * float64(lookEvery))
			now.carrying += time.Duration(n) * lookEvery
			if rate >= 0.99*c.each*float64(n) {
				now.buf += time.Duration(n) * lookEvery
			}
			add := 0
			if add, over = g.next(now, n); add > 0 {
				n, last = n+add, at
			}
		}
		if n != c.n || last > c.within {
			t.Errorf("%s: %d streams after %v, want %d within %v", name, n, last, c.n, c.within)
		}
	}
}
