package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// windowed is a window of 125 KiB, always full, on a path of 10 ms.
func windowed() knobs {
	return knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, wnd: 125 << 10, rcvbuf: 256 << 10, full: true, rwnd: 0.95}
}

func TestSeveralShowWhatTheyMeetTogether(t *testing.T) {
	slow := knobs{rate: 0.45e9, rtt: 18 * time.Millisecond, streams: 8}
	// Small send buffers hold each back beside the queue that they share.
	queued := knobs{rate: 0.45e9, rtt: 37 * time.Millisecond, streams: 8, sndbuf: 0.6, sndbufSz: 256 << 10, cwnd: 400, notsent: -1, sendQ: 250 << 10, settings: map[string]string{wmemSetting: "4096 16384 262144"}}
	full := knobs{rate: healthy, rtt: 12 * time.Millisecond, streams: 8}
	for _, c := range []struct {
		name   string
		probe  knobs
		causes []model.LimiterID
		next   model.LimiterID
	}{
		{"a slow link behind it", slow, []model.LimiterID{model.ReceiverWindow, model.LinkRate}, model.LinkRate},
		{"a slow link, and buffers that still show", queued, []model.LimiterID{model.ReceiverWindow, model.LinkRate}, model.LinkRate},
		{"nothing behind it", full, []model.LimiterID{model.ReceiverWindow}, model.None},
	} {
		v := Judge(windowed().build())
		if v.Limiter != model.ReceiverWindow {
			t.Fatalf("%s: %s", c.name, v.Line)
		}
		plan, ok := PlanSeveral(v, 1)
		if !ok || plan.Streams < 8 {
			t.Fatalf("%s: planned %+v %v", c.name, plan, ok)
		}
		got := plan.after(v, c.probe.build())
		var ids []model.LimiterID
		for _, x := range got.Causes {
			ids = append(ids, x.Limiter)
		}
		if !slices.Equal(ids, c.causes) || got.NextLimit == nil || got.NextLimit.Limiter != c.next {
			t.Errorf("%s: causes %v, next %+v", c.name, ids, got.NextLimit)
		}
		if g := got.ExpectedGain; g != nil && g.High > got.NextLimit.At {
			t.Errorf("%s: more is expected, %s, than the next limit allows, %s", c.name, g.High, got.NextLimit.At)
		}
	}
}

// Connections that queue for one link are judged without a scene of their own.
func TestSharedLinkSaysWhatThePathCarries(t *testing.T) {
	c := windowed().build()
	next := Judge(c)
	got := sharedLink(next, c, "8 connections carry 0.5 Gbit/s")
	if got.Limiter != model.LinkRate || !strings.Contains(got.Fix.Advice, bits(float64(next.Measured))) {
		t.Errorf("limiter %s, fix %+v", got.Limiter, got.Fix)
	}
}

func TestNoSeveralForWhatIsShared(t *testing.T) {
	v := Judge(knobs{rate: 0.45e9, rtt: 18 * time.Millisecond}.build())
	if _, ok := PlanSeveral(v, 1); ok {
		t.Errorf("planned for %s", v.Limiter)
	}
	if _, ok := PlanSeveral(Judge(windowed().build()), severalMost); ok {
		t.Error("planned although as many ran already")
	}
}

// At so much of a fixed limit random losses cost less than the limit does (see
// evenMatch); far below it they cost more.
func TestLossesOrALimitFirst(t *testing.T) {
	for _, c := range []struct {
		rate  float64
		first model.LimiterID
		then  model.LimiterID
	}{
		{0.205e9, model.SendBuffer, model.PathLoss},
		{0.150e9, model.PathLoss, model.SendBuffer},
	} {
		// 380 KiB hold 75% of data, which 10 ms carry at 233 Mbit/s.
		k := knobs{rate: c.rate, rtt: 10200 * time.Microsecond, retrans: 0.0002, cwnd: 140, sndbufSz: 380 << 10, settings: map[string]string{wmemSetting: "4096 16384 389120"}}
		v := Judge(k.build())
		if len(v.Causes) < 2 || v.Causes[0].Limiter != c.first || v.Causes[1].Limiter != c.then {
			t.Errorf("%g: %s, causes %+v", c.rate, v.Line, v.Causes)
		}
		if v.Limiter != v.Causes[0].Limiter {
			t.Errorf("%g: the verdict names %s", c.rate, v.Limiter)
		}
	}
}

// A writer behind losses: what it produces is seen while the losses let everything
// through.
func TestASlowSourceBehindLosses(t *testing.T) {
	c := knobs{rate: 0.14e9, rtt: 10200 * time.Microsecond, retrans: 0.0002, cwnd: 120}.build()
	moved := int64(64 << 20)
	for i := range c.Sender.Samples {
		x := &c.Sender.Samples[i].Conns[0]
		rate := 0.13e9
		if i < 12 {
			rate, x.NotSent, x.Cwnd, x.SendQ = 0.2e9, 0, 400, int64(x.Unacked)*1448
		}
		if i > 0 {
			moved += int64(rate / 8 / 10)
		}
		x.BytesAcked = moved
		c.Receiver.Samples[i].Conns[0].BytesReceived = moved
	}
	v := Judge(c)
	if len(v.Causes) < 2 || v.Causes[0].Limiter != model.PathLoss || v.Causes[1].Limiter != model.ApplicationSource {
		t.Errorf("%s: causes %+v", v.Line, v.Causes)
	}
	if n := v.NextLimit; n == nil || n.At < 190*unit.Mbit || n.At > 210*unit.Mbit {
		t.Errorf("next: %+v", n)
	}
}

// A sender that backs off without sending anything again has not got rid of the
// first copies: no path is to blame.
func TestStuckBeforeItLeaves(t *testing.T) {
	for _, c := range []struct {
		resent int
		want   model.LimiterID
	}{{0, model.LocalQdisc}, {1, model.LocalQdisc}, {5, model.Outage}} {
		k := knobs{rate: 1, rtt: 10 * time.Millisecond, backoff: 5}.build()
		for i := range k.Sender.Samples {
			x := &k.Sender.Samples[i].Conns[0]
			x.BytesAcked, x.TotalRetrans, x.Unacked, x.Cwnd = 40000, c.resent, 10, 1
			k.Receiver.Samples[i].Conns[0].BytesReceived = 40000
		}
		v := Judge(k)
		if v.Limiter != c.want || c.want == model.LocalQdisc && v.Host != "client1" {
			t.Errorf("%d sent again: %s", c.resent, v.Line)
		}
		// The same at the receiver, whose acknowledgments do not come then.
		if c.want != model.LocalQdisc {
			continue
		}
		for i := range k.Sender.Samples {
			k.Sender.Samples[i].Conns[0].TotalRetrans = 66
			x := &k.Receiver.Samples[i].Conns[0]
			x.Backoff, x.TotalRetrans, x.Unacked = 5, c.resent, 5
		}
		if v := Judge(k); v.Limiter != model.LocalQdisc || v.Host != "server1" {
			t.Errorf("%d sent again by the receiver: %s", c.resent, v.Line)
		}
	}
}

// A reader that stopped closes the window. The probes of it double the timeout and
// are no segments sent again: nothing is in flight that could be stuck or lost.
func TestAClosedWindowIsNoStuckHost(t *testing.T) {
	c := knobs{rate: 1, rtt: 10 * time.Millisecond, backoff: 5}.build()
	for i := range c.Sender.Samples {
		x := &c.Sender.Samples[i].Conns[0]
		x.TotalRetrans, x.BytesRetrans, x.Unacked, x.SndWnd, x.NotSent, x.RwndLimited = 0, 0, 0, 0, 1<<20, x.Busy
		y := &c.Receiver.Samples[i].Conns[0]
		y.RcvWnd, y.RecvQ, y.RcvBuf = 0, 6<<20, 6<<20
	}
	switch v := Judge(c); v.Limiter {
	case model.LocalQdisc, model.MTUBlackhole, model.Outage:
		t.Errorf("%.2f %s", v.Confidence, v.Line)
	default:
		t.Logf("%.2f %s", v.Confidence, v.Line)
	}
}
