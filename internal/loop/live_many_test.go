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
		now, began := time.Duration(0), time.Unix(0, 0)
		ends := []*liveEnd{
			{LiveEnd: LiveEnd{Name: "client", Addrs: []netip.Addr{sendAddr}}, window: watch.Window{Span: LiveWindow}},
			{LiveEnd: LiveEnd{Name: "server", Addrs: []netip.Addr{recvAddr}}, window: watch.Window{Span: LiveWindow}},
		}
		l := &Live{ends: ends, began: began, Now: func() time.Time { return began.Add(now) }}
		for _, e := range ends {
			e.add(arrival{facts: &model.Facts{}})
		}
		for i := range int64(101) {
			now = time.Duration(i) * sampleInterval
			snd, rcv := model.Sample{At: now, HostAt: began.Add(now)}, model.Sample{At: now, HostAt: began.Add(now)}
			for k := range c.conns {
				from, to := netip.AddrPortFrom(sendAddr, uint16(40000+k)), netip.AddrPortFrom(recvAddr, 5201)
				snd.Conns = append(snd.Conns, model.Conn{Local: from, Remote: to, State: 1, BytesAcked: i * bytes, BytesSent: i * bytes})
				rcv.Conns = append(rcv.Conns, model.Conn{Local: to, Remote: from, State: 1, BytesReceived: i * bytes})
			}
			ends[0].add(arrival{at: now, sample: &snd})
			ends[1].add(arrival{at: now, sample: &rcv})
		}
		j := l.between([2]int{0, 1}, ends[0], ends[1])
		moves := j.State != watch.Idle && j.Goodput > 7e6 && j.Goodput < 7.4e6
		if quiet := j.State == watch.Idle && j.Goodput == 0; moves != (c.want == watch.Moving) || quiet == moves {
			t.Errorf("%d connections of 48 kbit/s: %s, %v, want %s", c.conns, j.State, j.Goodput, c.want)
		}
	}
}
