package explain

import (
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// bursts is a view of the last ten seconds of connections that each send 20 kB once a second, at
// once, from the first moment on.
func bursts(streams int, until time.Duration) Case {
	c := knobs{streams: streams, samples: 101}.build()
	c.Passive = true
	for _, e := range []*End{c.Sender, c.Receiver} {
		for i := range e.Samples {
			moved := int64(0)
			if at := e.Samples[i].At - 10*time.Second + until; at > 0 {
				moved = 20e3 * (1 + int64((at-1)/time.Second))
			}
			for k := range e.Samples[i].Conns {
				x := &e.Samples[i].Conns[k]
				x.Unacked, x.NotSent, x.SendQ, x.RecvQ, x.MinRTT = 0, 0, 0, 0, 400*time.Microsecond
				if e == c.Sender {
					x.BytesAcked, x.BytesSent = moved, moved
				} else {
					x.BytesReceived = moved
				}
			}
		}
	}
	return c
}

// To each burst belongs its pause: n bursts that began a second apart are those of n seconds, in a view
// that has just begun to see them as later.
func TestGoodputOfBursts(t *testing.T) {
	for _, streams := range []int{1, 4, 20} {
		want := float64(streams) * 160e3
		for until := 3 * time.Second; until <= 20*time.Second; until += 730 * time.Millisecond {
			got, _ := Carried(bursts(streams, until))
			if float64(got) < 0.97*want || float64(got) > 1.03*want {
				t.Errorf("%d connections, %v after the first burst: %v, want %v", streams, until, got, unit.BitRate(want))
			}
		}
	}
}

// What moves without a pause is not spread over the time before it began, nor over that after it ended.
func TestGoodputWithoutPauses(t *testing.T) {
	for _, at := range []struct{ from, to int }{{0, 100}, {60, 100}, {0, 40}, {30, 70}} {
		c := knobs{samples: 101}.build()
		c.Passive = true
		for _, e := range []*End{c.Sender, c.Receiver} {
			held := e.Samples
			for i := range held {
				held[i].Conns = []model.Conn{held[min(max(i, at.from), at.to)].Conns[0]}
				held[i].Conns[0].Unacked, held[i].Conns[0].NotSent, held[i].Conns[0].RecvQ = 0, 0, 0
			}
		}
		if got, _ := Carried(c); float64(got) < 0.99*healthy || float64(got) > 1.01*healthy {
			t.Errorf("moved from sample %d to %d: %v, want %v", at.from, at.to, got, unit.BitRate(healthy))
		}
	}
}
