package loop

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// Of many connections each may move less than what counts as movement: what they move together counts.
func TestManySmallConnectionsMove(t *testing.T) {
	const bytes = 600 // each 100 ms: 48 kbit/s a connection
	for _, c := range []struct {
		conns int
		want  watch.State
	}{{1, watch.Idle}, {150, watch.Moving}} {
		v := newTwoHosts(Target{}, Target{})
		for i := range int64(101) {
			v.now = time.Duration(i) * sampleInterval
			var snd, rcv model.Sample
			for k := range c.conns {
				from, to := netip.AddrPortFrom(sendAddr, uint16(40000+k)), netip.AddrPortFrom(recvAddr, 5201)
				snd.Conns = append(snd.Conns, model.Conn{Local: from, Remote: to, State: 1, BytesAcked: i * bytes, BytesSent: i * bytes})
				rcv.Conns = append(rcv.Conns, model.Conn{Local: to, Remote: from, State: 1, BytesReceived: i * bytes})
			}
			v.hear(0, snd)
			v.hear(1, rcv)
		}
		j := v.judge()
		moves := j.State != watch.Idle && j.Goodput > 7e6 && j.Goodput < 7.4e6
		if quiet := j.State == watch.Idle && j.Goodput == 0; moves != (c.want == watch.Moving) || quiet == moves {
			t.Errorf("%d connections of 48 kbit/s: %s, %v, want %s", c.conns, j.State, j.Goodput, c.want)
		}
	}
}
