package loop

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/watch"
)

// A transfer that pauses is judged over the window also where one end does not list its connection, since a container
// or a translated address hides it: that this end has none that moved is no sign of an end.
func TestAPauseIsNoEndWhereOneEndHidesTheConnection(t *testing.T) {
	const pauses, perSecond = 12 * time.Second, 12_500_000
	for _, c := range []struct {
		name    string
		control int            // of the first end
		shows   netip.AddrPort // whom the second end shows as its peer; invalid: it shows no connection
		closes  bool           // the connection is gone with the pause
		want    watch.State    // in the fourth second of the pause
	}{
		{"hidden", 0, netip.AddrPort{}, false, watch.CannotTell},
		{"translated", 77, netip.MustParseAddrPort("192.0.2.7:999"), false, watch.CannotTell},
		{"hidden, and over", 0, netip.AddrPort{}, true, watch.Idle},
	} {
		v := newTwoHosts(Target{Control: c.control}, Target{})
		from, to, elsewhere := netip.AddrPortFrom(sendAddr, 40000), netip.AddrPortFrom(recvAddr, 2049), netip.MustParseAddrPort("198.51.100.9:22")
		for now := time.Duration(0); now < pauses+4*time.Second; now += sampleInterval {
			v.now = now
			n := int64(min(now, pauses).Seconds() * perSecond)
			var snd, rcv model.Sample
			if !c.closes || now <= pauses {
				snd.Conns = append(snd.Conns, model.Conn{Local: from, Remote: to, State: 1, BytesAcked: n, BytesSent: n, Busy: min(now, pauses), SndMSS: 1448, Cwnd: 10})
			}
			if c.shows.IsValid() {
				rcv.Conns = append(rcv.Conns, model.Conn{Local: to, Remote: c.shows, State: 1, BytesReceived: n, RcvMSS: 1448})
			}
			if now < pauses { // one to another host, that ends
				rcv.Conns = append(rcv.Conns, model.Conn{Local: to, Remote: elsewhere, State: 1, BytesReceived: n / 1000, RcvMSS: 1448})
			}
			v.hear(0, snd)
			v.hear(1, rcv)
		}
		j := v.judge()
		if idle := j.State == watch.Idle; idle != (c.want == watch.Idle) || idle != (j.Goodput == 0) {
			t.Errorf("%s: %s, %v: %s%s", c.name, j.State, j.Goodput, j.Why, j.Verdict.Line)
		}
	}
}
