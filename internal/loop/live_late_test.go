package loop

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// outage is a view of two hosts, of which the first sends to the second, that hears nothing of some of
// them from second 20 to second 80; then everything comes at once, twice.
type outage struct {
	every time.Duration // between two samples
	away  []int         // which hosts
	kept  time.Duration // how much of it the hosts kept; 0: all
	lost  bool          // a session ends meanwhile
	wants bool          // somebody wants late pictures
}

const (
	outageFrom = 20 * time.Second
	outageTo   = 80 * time.Second
)

var outageZero = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// play returns the records of what was shown live and late, and what the live view showed.
func (o outage) play(t *testing.T) (live, lateRuns []past.Record, shown [][]watch.Picture) {
	t.Helper()
	at := time.Duration(0)
	l := &Live{LineRate: model.Known(unit.Gbit), Window: LiveWindow, Step: LiveStep, Hold: LiveHold, Now: func() time.Time { return outageZero.Add(at) },
		Looked: func() map[string]bool { return nil }, began: outageZero, paths: map[[2]int]*watch.Path{}, glances: map[[2]int]*glance{}}
	addrs := []netip.Addr{sendAddr, recvAddr}
	var waits [2][]model.Sample
	for i, name := range []string{"a", "b"} {
		e := &liveEnd{LiveEnd: LiveEnd{Name: name, Addrs: addrs[i : i+1], Target: Target{Peers: addrs[1-i : 2-i]}}, paced: make(chan struct{}, 1)}
		e.window.Span = l.Window
		e.add(arrival{facts: &model.Facts{Host: name, OS: "linux", CPUs: []int{0}}})
		l.ends = append(l.ends, e)
	}
	if o.wants {
		l.Late = func(run []watch.Picture) {
			g := past.Gather{Span: 10 * time.Second}
			for _, p := range run {
				lateRuns = append(lateRuns, g.Add([]watch.Picture{p})...)
			}
			lateRuns = append(lateRuns, g.Close()...)
		}
	}
	end := l.beginLate(context.Background())
	g := past.Gather{Span: 10 * time.Second}
	for ; at <= 100*time.Second; at += o.every {
		gone := at > outageFrom && at <= outageTo
		for i, e := range l.ends {
			waits[i] = append(waits[i], outageSample(i, at))
			if gone && slices.Contains(o.away, i) {
				if o.lost && at == 60*time.Second {
					e.add(arrival{at: at, lost: fmt.Errorf("gone")})
				}
				continue
			}
			if o.kept > 0 && len(waits[i]) > 1 {
				waits[i] = slices.DeleteFunc(waits[i], func(s model.Sample) bool { return s.At < at-o.kept-time.Duration(i)*time.Hour })
			}
			if o.lost && len(waits[i]) > 1 {
				e.add(arrival{at: at, facts: e.facts})
			}
			for range 2 {
				for _, s := range waits[i] {
					e.add(arrival{at: at, sample: &s})
				}
			}
			waits[i] = nil
		}
		if at%LiveStep == 0 {
			all := l.look()
			shown = append(shown, all)
			live = append(live, g.Add(all)...)
		}
	}
	end()
	return append(live, g.Close()...), lateRuns, shown
}

// outageSample is what a host counts at a time. The clock of the second is an hour ahead, and its agent
// runs for an hour longer.
func outageSample(i int, at time.Duration) model.Sample {
	ahead := time.Duration(i) * time.Hour
	c := model.Conn{State: 1, InfoLen: 280, CC: "cubic", Options: 7, SndMSS: 1448, AdvMSS: 1448, PMTU: 1500, RTT: 10100 * time.Microsecond, MinRTT: 10 * time.Millisecond,
		Unacked: 103, Cwnd: 240, Ssthresh: 1 << 30, SndWnd: 150000, RcvWnd: 64000, SndBuf: 1 << 20, SendQ: 700000, NotSent: 550000, MaxPacing: -1, PacingRate: 4e8}
	sender, receiver := netip.AddrPortFrom(sendAddr, 40000), netip.AddrPortFrom(recvAddr, 5201)
	bytes := int64(15e6 * at.Seconds()) // 120 Mbit/s
	if c.Local, c.Remote = sender, receiver; i == 0 {
		c.BytesAcked, c.BytesSent, c.Busy, c.RwndLimited = bytes, bytes, at, at*95/100
	} else {
		c.Local, c.Remote, c.BytesReceived = receiver, sender, bytes
	}
	return model.Sample{V: 1, At: at + ahead, HostAt: outageZero.Add(at + ahead), Conns: []model.Conn{c},
		NICs: []model.NICCount{{Name: "eth0", TxBytes: bytes, RxBytes: bytes}}, CPUs: []model.CPUTime{{CPU: 0, User: at / 4, Idle: at * 3 / 4}}}
}

// states are for how long a path was shown in each state, and how long each host was seen.
func shownFor(all []past.Record) (states map[watch.State]time.Duration, bytes float64, hosts map[string]time.Duration, limiters map[model.LimiterID]time.Duration) {
	states, hosts, limiters = map[watch.State]time.Duration{}, map[string]time.Duration{}, map[model.LimiterID]time.Duration{}
	for _, r := range all {
		for _, p := range r.Paths {
			for _, x := range p.Parts {
				states[x.State] += x.For
				limiters[x.Limiter] += x.For
				bytes += x.Bytes
			}
		}
		for _, h := range r.Hosts {
			hosts[h.Name] += h.Seen
		}
	}
	return states, bytes, hosts, limiters
}

// What comes late is in the history as if it had come in time: all of it, once, with a verdict.
func TestWhatComesLateIsShownAgain(t *testing.T) {
	for name, o := range map[string]outage{
		"of both hosts, looked at closely": {every: 200 * time.Millisecond, away: []int{0, 1}},
		"of both hosts, once a second":     {every: time.Second, away: []int{0, 1}},
		"of the sender":                    {every: time.Second, away: []int{0}},
		"of the receiver":                  {every: time.Second, away: []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			o.wants = true
			live, late, shown := o.play(t)
			states, _, hosts, _ := shownFor(live)
			gone := states[watch.Stale]
			if gone < 50*time.Second {
				t.Fatalf("stale for %s only", gone)
			}
			again, bytes, lateHosts, limiters := shownFor(late)
			var long time.Duration
			for s, d := range again {
				if !s.Known() {
					t.Errorf("late, and shown as %s for %s", s, d)
				}
				long += d
			}
			if long != gone {
				t.Errorf("stale for %s, of which %s came late", gone, long)
			}
			if rate := bytes / long.Seconds(); rate < 14.9e6 || rate > 15.1e6 {
				t.Errorf("%g bytes a second, want 15e6", rate)
			}
			if o.every < time.Second && limiters[model.ReceiverWindow] != long {
				t.Errorf("verdicts %v, want %s for %s", limiters, model.ReceiverWindow, long)
			}
			for i, host := range []string{"a", "b"} {
				if all := hosts[host] + lateHosts[host]; all < 99*time.Second || all > 100*time.Second {
					t.Errorf("host %s was seen for %s live and %s late", host, hosts[host], lateHosts[host])
				}
				if !slices.Contains(o.away, i) && lateHosts[host] != 0 {
					t.Errorf("host %s was here all the time, and came late for %s", host, lateHosts[host])
				}
			}
			o.wants = false
			if _, _, without := o.play(t); !reflect.DeepEqual(shown, without) {
				t.Error("the live view shows something else when late pictures are wanted")
			}
		})
	}
}

// What no host has any more stays stale: nothing is made up.
func TestWhatIsGoneStaysStale(t *testing.T) {
	_, late, _ := outage{every: time.Second, away: []int{0, 1}, lost: true, wants: true}.play(t)
	if len(late) > 0 {
		t.Errorf("a session ended, and %d records came late", len(late))
	}
	live, late, _ := outage{every: time.Second, away: []int{0, 1}, kept: 30 * time.Second, wants: true}.play(t)
	states, _, _, _ := shownFor(live)
	again, bytes, _, _ := shownFor(late)
	long := again[watch.Moving] + again[watch.CannotTell] + again[watch.Idle]
	if long < 20*time.Second || long > 33*time.Second || states[watch.Stale] < 50*time.Second {
		t.Errorf("half a minute was kept, and came late as %v", again)
	}
	if rate := bytes / long.Seconds(); rate < 14.9e6 || rate > 15.1e6 {
		t.Errorf("%g bytes a second, want 15e6", rate)
	}
}

// However many hosts are late, what is kept of them is bounded, and given up as a whole for a host.
func TestMemoryOfLateSamplesIsBounded(t *testing.T) {
	all := 0
	memories := make([]memory, 1000)
	for i := range memories {
		memories[i] = memory{all: &all, wanted: true}
		memories[i].turn(nil)
	}
	for n := range 600 {
		for i := range memories {
			memories[i].keep(model.Sample{At: time.Duration(n) * time.Second})
		}
		if all > mostLate {
			t.Fatalf("%d are kept", all)
		}
	}
	sum := 0
	for i := range memories {
		if sum += len(memories[i].samples); memories[i].lacks && len(memories[i].samples) > 0 {
			t.Error("some samples of a host that lacks others are kept")
		}
	}
	if sum != all {
		t.Errorf("%d are kept, and %d are counted", sum, all)
	}
	for i := range memories {
		memories[i].turn(nil)
	}
	if all != 0 {
		t.Errorf("%d are kept when nothing is late", all)
	}
}
