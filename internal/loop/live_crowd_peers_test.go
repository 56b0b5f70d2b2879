package loop

import (
	"net/netip"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// afterAnother judges a host alone which for five seconds sent over one connection to a first peer,
// and for five since over some of 3000 connections to a second one: it tells four of these, each of
// which carries 1 MB/s; the others carry rest together. It samples every so often.
func afterAnother(rest float64, every time.Duration) watch.Judgement {
	const turns, first, each = 5 * time.Second, 100e6, 1e6 // bytes a second
	now, began := time.Duration(0), time.Unix(0, 0)
	e := &liveEnd{LiveEnd: LiveEnd{Name: "server"}, window: watch.Window{Span: LiveWindow}}
	e.add(arrival{facts: &model.Facts{}})
	l := &Live{ends: []*liveEnd{e}, began: began, LineRate: model.Known(unit.Gbit), Now: func() time.Time { return began.Add(now) }}
	other := netip.MustParseAddr("192.0.2.9")
	conn := func(to netip.Addr, port uint16, bytes int64) model.Conn {
		return model.Conn{Local: netip.AddrPortFrom(sendAddr, port), Remote: netip.AddrPortFrom(to, 2049), Inode: uint32(port), State: 1, BytesAcked: bytes, BytesSent: bytes}
	}
	for ; now <= 2*turns; now += every {
		before, since := min(now, turns).Seconds(), max(0, now-turns).Seconds()
		s := model.Sample{At: now, HostAt: began.Add(now), Conns: []model.Conn{conn(other, 9, int64(first*before))}}
		s.Totals = []model.ConnTotal{
			{Remote: other, Since: 1, Conns: 1, BytesAcked: int64(first * before)},
			{Remote: recvAddr, Since: 1, Conns: 3000, BytesAcked: int64((4*each + rest) * since)},
		}
		for k := range uint16(4) {
			s.Conns = append(s.Conns, conn(recvAddr, 20000+k, int64(each*since)))
		}
		e.add(arrival{at: now, sample: &s})
	}
	return l.alone([2]int{0, 0}, e)
}

// A host is judged by its traffic with the peer that is the busiest in that very part of the window
// in which the connections that are told account for all: not with one that was the busiest before.
func TestTheBusiestPeerOfACrowdIsThatOfThePartJudged(t *testing.T) {
	const told = 4 * 8e6
	for _, c := range []struct {
		name  string
		rest  float64
		state watch.State
	}{
		{"four carry all", 0, watch.Moving},
		{"thousands carry data", 50e6, watch.CannotTell},
	} {
		for _, every := range []time.Duration{sampleInterval, 230 * time.Millisecond, 370 * time.Millisecond} {
			j, want := afterAnother(c.rest, every), told+8*c.rest
			if off := float64(j.Goodput)/want - 1; off < -0.02 || off > 0.02 || j.Crowd != (c.rest > 0) {
				t.Errorf("%s, %v: %s, %v, want %.0f: %s%s", c.name, every, j.State, j.Goodput, want, j.Why, j.Verdict.Line)
			}
			if len(j.Conns) != 4 || j.Unlisted != 2996 {
				t.Errorf("%s, %v: %d connections are shown, and %d more", c.name, every, len(j.Conns), j.Unlisted)
			}
		}
	}
}
