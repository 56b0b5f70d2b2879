package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// share of a case's streams carries part of what the others do; lost is the share of
// segments that they send again.
func someLose(k knobs, poor int, part, lost float64) Case {
	c := k.build()
	for i := range c.Sender.Samples {
		for n := range poor {
			x, y := &c.Sender.Samples[i].Conns[n], &c.Receiver.Samples[i].Conns[n]
			cut := int64((1 - part) * float64(x.BytesAcked-64<<20))
			x.BytesAcked, x.BytesSent, y.BytesReceived = x.BytesAcked-cut, x.BytesSent-cut, y.BytesReceived-cut
			x.SegsOut -= cut / 1448
			x.TotalRetrans = int(lost * float64(x.SegsOut))
			x.BytesRetrans = int64(lost * float64(x.BytesSent))
			x.RTT, x.Cwnd, x.Unacked = x.MinRTT, 20, 20
		}
	}
	return c
}

// One member of a bundle loses: the connections that are hashed to it decide, though
// they moved next to nothing.
func TestPoorConnections(t *testing.T) {
	k := knobs{rate: 0.75e9, rtt: 15 * time.Millisecond, streams: 8}
	for _, tt := range []struct {
		name   string
		c      Case
		want   model.LimiterID
		groups bool
	}{
		{"two of eight lose 1%", someLose(k, 2, 0.1, 0.01), model.PathLoss, true},
		{"two of eight lose 5% and carry next to nothing", someLose(k, 2, 0.02, 0.05), model.PathLoss, true},
		{"all lose alike", someLose(k, 8, 0.3, 0.01), model.PathLoss, false},
		{"none is poor", k.build(), model.LinkRate, false},
	} {
		v := Judge(tt.c)
		grouped := len(v.Evidence) > 0 && v.Evidence[0].Metric == "poor_connections"
		if v.Limiter != tt.want || grouped != tt.groups || tt.groups != strings.Contains(v.Fix.Advice, "other ports") {
			t.Errorf("%s: %.2f %v %s", tt.name, v.Confidence, v.Contradictions, v.Line)
		}
		if tt.groups && v.Confidence < 0.6 {
			t.Errorf("%s: %.2f %v %+v", tt.name, v.Confidence, v.Contradictions, v.Account)
		}
	}
}

// Where one cause holds all connections, and some lose besides, it is named for all of them; that
// some are poor is said after its evidence.
func TestPoorConnectionsBesideACommonCause(t *testing.T) {
	k := knobs{rate: 0.6e9, rtt: 15 * time.Millisecond, streams: 8}
	c := someLose(k, 2, 0.4, 0.09)
	for i := range c.Sender.Samples {
		for n := range 8 {
			x := &c.Sender.Samples[i].Conns[n]
			x.RTT, x.Unacked, x.SndWnd, x.Cwnd = x.MinRTT, 96, 96*1448, 200
			x.RwndLimited = time.Duration(float64(x.Busy) * 0.9)
		}
	}
	v := Judge(c)
	if v.Limiter != model.ReceiverWindow || len(v.Evidence) == 0 || v.Evidence[0].Metric == poorConnections || poorOf(v) != 2 || strings.Contains(v.Fix.Advice, "other ports") {
		t.Errorf("%.2f, %d poor: %s %+v", v.Confidence, poorOf(v), v.Line, v.Evidence)
	}
}

// A connection that is left idle has no say in what holds the busy one.
func TestIdleConnectionsHaveNoSay(t *testing.T) {
	c := knobs{rate: 0.5e9, rtt: 18 * time.Millisecond, streams: 4}.build()
	for i := range c.Sender.Samples {
		for n := 1; n < 4; n++ {
			x, y := &c.Sender.Samples[i].Conns[n], &c.Receiver.Samples[i].Conns[n]
			moved := (x.BytesAcked - 64<<20) / 20
			x.BytesAcked, x.BytesSent, y.BytesReceived = 64<<20+moved, 64<<20+moved, 64<<20+moved
			x.NotSent, x.Unacked, x.SendQ, x.AppLimited = 0, 2, 2*1448, true
		}
	}
	if v := Judge(c); v.Limiter != model.LinkRate {
		t.Errorf("%s", v.Line)
	}
}

// A copy opens a second stream shortly before its end: that one did not get beyond slow start, the copy
// did. Where the late stream moved most of the data, the transfer is as young as it is.
func TestAStreamThatCameLateDoesNotMakeATransferShort(t *testing.T) {
	for _, tt := range []struct {
		name  string
		early float64 // of its data the first stream moved
		want  model.LimiterID
	}{
		{"the window holds the first stream", 1, model.ReceiverWindow},
		{"the first stream moved next to nothing", 0.002, model.StartUp},
	} {
		c := knobs{rate: 1e9, minRTT: 20 * time.Millisecond, rtt: 21 * time.Millisecond, streams: 2, samples: 27}.build()
		const from = 22
		for i := range c.Sender.Samples {
			x, y := &c.Sender.Samples[i], &c.Receiver.Samples[i]
			first := &x.Conns[0]
			first.BytesAcked = int64(tt.early * float64(first.BytesAcked-64<<20))
			first.BytesSent, y.Conns[0].BytesReceived = first.BytesAcked, first.BytesAcked
			first.RTT, first.Unacked, first.SndWnd, first.Cwnd = first.MinRTT, 96, 96*1448, 200
			first.RwndLimited = time.Duration(0.9 * float64(first.Busy))
			if tt.early < 1 {
				first.NotSent = 0 // it is left idle
			}
			late, base := &x.Conns[1], c.Sender.Samples[from].Conns[1].BytesAcked
			if i >= from {
				late.Busy = x.At - c.Sender.Samples[from].At
			}
			if i == from {
				base = late.BytesAcked
			}
			if i <= from {
				if i < from {
					x.Conns, y.Conns = x.Conns[:1], y.Conns[:1]
				}
				continue
			}
			late.BytesAcked = (late.BytesAcked - base) / 4
			late.BytesSent, y.Conns[1].BytesReceived = late.BytesAcked, late.BytesAcked
		}
		x, y := &c.Sender.Samples[from].Conns[1], &c.Receiver.Samples[from].Conns[1]
		x.BytesAcked, x.BytesSent, y.BytesReceived = 0, 0, 0
		if v := Judge(c); v.Limiter != tt.want {
			t.Errorf("%s: %s (%.2f) %s", tt.name, v.Limiter, v.Confidence, v.Line)
		}
	}
}
