package loop

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// idlers is a host with very many connections to another, of which few move data from a time on, held back
// by the sender's buffer. It tells what a host does (internal/host): those that move data once they do,
// some others in turn, and sums of all, counted since its sampling began.
type idlers struct {
	conns, busy int
	all         bool // it has few, and tells all
	sends       bool
	begins      time.Duration
	since       time.Duration // of its sampling
	n           int
}

const (
	idlerRate = 6e6 // bytes a second of each that moves: 48 kB in 8 ms
	idlerRTT  = 8 * time.Millisecond
)

func (h *idlers) conn(i int, now time.Duration) model.Conn {
	moving := max(0, now-h.begins)
	n := int64(0)
	if i < h.busy {
		n = int64(idlerRate * moving.Seconds())
	}
	life := int64(i%5)<<39 + int64(i)*1e6 // of long ago
	from, to := netip.AddrPortFrom(sendAddr, uint16(20000+i)), netip.AddrPortFrom(recvAddr, 2049)
	c := model.Conn{Local: from, Remote: to, Inode: uint32(100 + i), State: 1, InfoLen: 280, CC: "cubic", Options: 7, SndMSS: 1448, RcvMSS: 1448, AdvMSS: 1448, PMTU: 1500,
		MaxPacing: -1, PacingRate: -1, Cwnd: 400, Ssthresh: 1 << 30, SndWnd: 4 << 20, RcvWnd: 4 << 20, SndBuf: 64 << 10, RcvBuf: 6 << 20, MinRTT: idlerRTT, RTT: idlerRTT * 21 / 20}
	if !h.sends {
		c.Local, c.Remote = to, from
		c.BytesReceived, c.SegsIn, c.DataSegsIn = life+n, (life+n)/1448, (life+n)/1448
		return c
	}
	c.BytesAcked, c.BytesSent, c.SegsOut, c.DataSegsOut, c.Delivered = life+n, life+n, (life+n)/1448, (life+n)/1448, (life+n)/1448
	if i < h.busy && moving > 0 {
		c.Unacked, c.SendQ, c.WmemQueued, c.Busy, c.SndbufLimited = 33, 48<<10, 63<<10, moving, moving*19/20
	}
	return c
}

// at is the host's next sample.
func (h *idlers) at(now time.Duration, began time.Time) model.Sample {
	s := model.Sample{V: 1, At: now, HostAt: began.Add(now), CPUs: []model.CPUTime{{CPU: 0, User: now / 50, System: now / 20, Idle: now * 93 / 100}}}
	peer := recvAddr
	if !h.sends {
		peer = sendAddr
	}
	h.n++
	total := model.ConnTotal{Remote: peer, Since: h.since, Conns: h.conns}
	for i := range h.conns {
		moves := i < h.busy && (now > h.begins && h.n > 1 || h.sends && h.n == 1 && now > h.begins)
		turn := (i-h.n*8)%h.conns >= 0 && (i-h.n*8)%h.conns < 24
		if h.all || moves && i < measure.MovingConns || turn {
			s.Conns = append(s.Conns, h.conn(i, now))
		}
		if i < h.busy {
			c, was := h.conn(i, now), h.conn(i, h.since)
			total.BytesAcked, total.BytesReceived = total.BytesAcked+c.BytesAcked-was.BytesAcked, total.BytesReceived+c.BytesReceived-was.BytesReceived
		}
	}
	if !h.all {
		s.Totals = []model.ConnTotal{total}
	}
	return s
}

// seen is what a view shows of a path at the end, and when it named what it does.
type seen struct {
	last  watch.Picture
	named time.Duration
	close bool // it was looked at closely
}

// views has a view watch two hosts, or one alone, for a while, looked at by somebody or not.
func views(hosts []*idlers, looked bool, long time.Duration) (out seen) {
	now, began := time.Duration(0), time.Unix(0, 0)
	l := &Live{LineRate: model.Known(unit.Gbit), Window: LiveWindow, Step: LiveStep, Hold: LiveHold, began: began, Now: func() time.Time { return began.Add(now) },
		paths: map[[2]int]*watch.Path{}, glances: map[[2]int]*glance{}}
	if !looked {
		l.Looked = func() map[string]bool { return nil }
	}
	for i, h := range hosts {
		at := []LiveEnd{{Name: "client", Addrs: []netip.Addr{sendAddr}}, {Name: "server", Addrs: []netip.Addr{recvAddr}}}[i]
		at.Path = "of one"
		e := &liveEnd{LiveEnd: at, window: watch.Window{Span: LiveWindow}, now: l.elapsed, paced: make(chan struct{}, 1), doubted: make(chan struct{}, 1)}
		e.every.Store(int64(l.slowest()))
		e.add(arrival{facts: &model.Facts{V: 1, OS: "linux"}})
		l.ends = append(l.ends, e)
		h.since = time.Nanosecond
	}
	next := make([]time.Duration, len(hosts))
	for ; now < long; now += sampleInterval {
		for i, e := range l.ends {
			select {
			case <-e.paced:
				hosts[i].since, hosts[i].n, next[i] = now, 0, now
				out.close = out.close || e.every.Load() == int64(sampleInterval)
			default:
			}
			if now >= next[i] {
				s := hosts[i].at(now, began)
				s.Next = time.Duration(e.every.Load())
				e.add(arrival{at: now, sample: &s})
				next[i] = now + s.Next
			}
		}
		if now%LiveStep != 0 {
			continue
		}
		for _, p := range l.look() {
			if out.last = p; p.Shown.Limiter != "" && out.named == 0 {
				out.named = now
			}
		}
	}
	return out
}

// A transfer that begins on a host with thousands of idle connections has its verdict as fast as any: those
// that are not told are idle.
func TestATransferBesideThousandsOfIdleConnectionsIsJudged(t *testing.T) {
	const conns, busy, begins = 3004, 4, 15 * time.Second
	crowd := func(sends bool) *idlers {
		return &idlers{conns: conns, busy: busy, sends: sends, begins: begins + 300*time.Millisecond}
	}
	few := func(sends bool) *idlers {
		return &idlers{conns: busy, busy: busy, all: true, sends: sends, begins: begins + 300*time.Millisecond}
	}
	for _, c := range []struct {
		name  string
		hosts []*idlers
		idle  int
	}{
		{"none", []*idlers{few(true), few(false)}, 0},
		{"sender", []*idlers{crowd(true), few(false)}, conns - busy},
		{"receiver", []*idlers{few(true), crowd(false)}, conns - busy},
		{"both", []*idlers{crowd(true), crowd(false)}, conns - busy},
		{"alone", []*idlers{crowd(true)}, conns - busy},
	} {
		for _, looked := range []bool{true, false} {
			for _, h := range c.hosts {
				h.n = 0
			}
			got := views(c.hosts, looked, begins+25*time.Second)
			p := got.last
			if p.Shown.Limiter != model.SendBuffer || got.named < begins || got.named > begins+10*time.Second || got.close == looked {
				t.Errorf("%s, looked at: %v: %+v, named at %v: %s %s", c.name, looked, p.Shown, got.named, p.Verdict.Line, p.Why)
			}
			if off := float64(p.Goodput)/(8*idlerRate*busy) - 1; off < -0.02 || off > 0.02 {
				t.Errorf("%s, looked at: %v: goodput %v (%+.1f%%)", c.name, looked, p.Goodput, 100*off)
			}
			if p.Unlisted != c.idle || p.UnlistedIdle != (c.idle > 0) || len(p.Conns) != busy*len(c.hosts) {
				t.Errorf("%s, looked at: %v: %d connections, %d more, idle: %v", c.name, looked, len(p.Conns), p.Unlisted, p.UnlistedIdle)
			}
		}
	}
}

// Where more connections of a host move data than it tells, none is judged.
func TestAHostWithThousandsOfBusyConnectionsIsNotJudged(t *testing.T) {
	const conns, begins = 3000, 5 * time.Second
	for _, hosts := range [][]*idlers{
		{{conns: conns, busy: conns, sends: true, begins: begins}, {conns: conns, busy: conns, begins: begins}},
		{{conns: conns, busy: conns, sends: true, begins: begins}},
	} {
		for _, looked := range []bool{true, false} {
			got := views(hosts, looked, begins+15*time.Second)
			p := got.last
			if p.Shown.State != watch.CannotTell || got.named > 0 || got.close || p.UnlistedIdle || p.Unlisted == 0 || !strings.Contains(p.Why, "3000 connections, of which more move data") {
				t.Errorf("%d hosts, looked at: %v: %+v at %v, %d more: %s", len(hosts), looked, p.Shown, got.named, p.Unlisted, p.Why)
			}
			if off := float64(p.Goodput)/(8*idlerRate*conns) - 1; off < -0.02 || off > 0.02 {
				t.Errorf("%d hosts, looked at: %v: goodput %v (%+.1f%%)", len(hosts), looked, p.Goodput, 100*off)
			}
		}
	}
}
