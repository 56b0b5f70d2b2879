package loop

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// closing is a view of two hosts between which four connections carry a transfer that ends: the sender's
// connections are gone at once, the receiver's later, after what still came.
func closing(ended, rest, drains time.Duration, see func(at time.Duration, j watch.Judgement)) {
	v := newTwoHosts(Target{}, Target{})
	const perSecond = 12_500_000 // 100 Mbit/s
	count := func(at time.Duration) int64 { return int64(at.Seconds() * perSecond) }
	for i := range 300 {
		now := time.Duration(i) * sampleInterval
		v.now = now
		var snd, rcv model.Sample
		for k := range 4 {
			from, to := netip.AddrPortFrom(sendAddr, uint16(40000+k)), netip.AddrPortFrom(recvAddr, 5201)
			if now < ended {
				snd.Conns = append(snd.Conns, model.Conn{Local: from, Remote: to, State: 1, BytesAcked: count(now), BytesSent: count(now), Busy: now, SndMSS: 1448, Cwnd: 10})
			}
			if now < ended+rest {
				rcv.Conns = append(rcv.Conns, model.Conn{Local: to, Remote: from, State: 1, BytesReceived: count(min(now, ended+drains)), RcvMSS: 1448})
			}
		}
		v.hear(0, snd)
		v.hear(1, rcv)
		if i%10 == 9 {
			see(now, v.judge())
		}
	}
}

// At the end of a transfer a picture says what goes on, or that nothing does.
func TestAnEndingTransferIsRight(t *testing.T) {
	for _, ended := range []time.Duration{9 * time.Second, 12300 * time.Millisecond} {
		for _, rest := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second, 8 * time.Second} {
			for _, drains := range []time.Duration{0, 100 * time.Millisecond, 700 * time.Millisecond} {
				closing(ended, rest, drains, func(at time.Duration, j watch.Judgement) {
					if at < 4*time.Second {
						return
					}
					moves := j.State == watch.Moving || j.State == watch.CannotTell
					if moves != (j.Goodput > 0) || !moves && len(j.Conns) > 0 {
						t.Errorf("ended %v, the receiver's connections %v later, data %v: at %v %s %s, %v, %d connections: %s", ended, rest, drains, at, j.State, j.Limiter, j.Goodput, len(j.Conns), j.Why)
					}
				})
			}
		}
	}
}
