package loop

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/watch"
)

// crowdHost makes the samples of a host with many connections, of which each moves another amount: some
// are told, the tenth part of them in every sample, and sums of all.
type crowdHost struct {
	conns    int
	from, to netip.AddrPort
	sends    bool
	since    time.Duration
}

func (h crowdHost) at(now time.Duration) model.Sample {
	s := model.Sample{Totals: []model.ConnTotal{{Remote: h.to.Addr(), Since: h.since, Conns: h.conns}}}
	t := &s.Totals[0]
	for i := range h.conns {
		n := int64(now-h.since) * int64(1+i%100) / 1e6 // 1 to 100 kB a second
		c := model.Conn{Local: netip.AddrPortFrom(h.from.Addr(), uint16(int(h.from.Port())+i)), Remote: h.to, State: 1}
		if h.sends {
			c.BytesAcked, c.BytesSent, t.BytesAcked = n, n, t.BytesAcked+n
		} else {
			c.BytesReceived, t.BytesReceived = n, t.BytesReceived+n
		}
		if i%10 == int(now/time.Second)%10 || i%100 == 99 {
			s.Conns = append(s.Conns, c)
		}
	}
	return s
}

// A path with thousands of connections of which hosts tell some has the goodput of all of them, also when
// another sampling counts from its own beginning.
func TestACrowdHasTheGoodputOfAll(t *testing.T) {
	const conns, want = 5000, 8 * 5000 * 50.5e3
	v := newTwoHosts(Target{}, Target{})
	hosts := []crowdHost{
		{conns, netip.AddrPortFrom(sendAddr, 20000), netip.AddrPortFrom(recvAddr, 2049), true, 0},
		{conns, netip.AddrPortFrom(recvAddr, 20000), netip.AddrPortFrom(sendAddr, 2049), false, 0},
	}
	for i := range 20 {
		v.now = time.Duration(i) * time.Second
		for k := range hosts {
			if i == 12 {
				hosts[k].since = v.now - time.Millisecond
			}
			v.hear(k, hosts[k].at(v.now))
		}
		j := v.judge()
		if i < 3 {
			if j.State != watch.Starting {
				t.Fatalf("second %d: %+v", i, j.Named)
			}
			continue
		}
		if off := float64(j.Goodput)/want - 1; j.State != watch.CannotTell || !j.Crowd || off < -0.01 || off > 0.01 {
			t.Errorf("second %d: %s, %v, want %v (%+.1f%%)", i, j.State, j.Goodput, want/1e9, 100*off)
		}
		if told := len(j.Conns); told == 0 || j.Unlisted == 0 || j.Unlisted > conns || !strings.Contains(j.Why, "5000 connections") {
			t.Errorf("second %d: %d connections are told, and %d not; %s", i, told, j.Unlisted, j.Why)
		}
	}
}

// A client that tells all of its connections is judged by them, though its server has too many.
func TestAClientOfACrowdedServerIsJudged(t *testing.T) {
	v := newTwoHosts(Target{}, Target{})
	few := crowdHost{10, netip.AddrPortFrom(sendAddr, 20000), netip.AddrPortFrom(recvAddr, 2049), true, 0}
	many := crowdHost{measure.CloseConns + 1, netip.AddrPortFrom(recvAddr, 20000), netip.AddrPortFrom(sendAddr, 2049), false, 0}
	for i := range 101 {
		v.now = time.Duration(i) * sampleInterval
		var s model.Sample
		for k := range few.conns {
			n := int64(i) * 505_010 // what the server sums up
			s.Conns = append(s.Conns, model.Conn{Local: netip.AddrPortFrom(sendAddr, uint16(20000+k)), Remote: few.to, State: 1, BytesAcked: n, BytesSent: n})
		}
		v.hear(0, s)
		if i%10 == 0 {
			v.hear(1, many.at(v.now))
		}
	}
	j := v.judge()
	if j.Goodput < 400e6 || j.Goodput > 408e6 || j.Verdict.Line == "" || j.Crowd || j.Unlisted != 0 {
		t.Errorf("%s, %v, %d told: %q", j.State, j.Goodput, len(j.Conns), j.Verdict.Line)
	}
}
