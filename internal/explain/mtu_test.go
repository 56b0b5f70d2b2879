package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// A full path is not at its best where one end sends smaller packets than the
// other is set up for.
func TestSmallMTUOnAFullPath(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sender, other int
		mss           int
		rate          float64
		want          model.LimiterID
		host          string
	}{
		{"one end small", 9000, 1500, 1448, 0.93e9, model.PacketCost, "server1"},
		{"the sender small", 576, 9000, 524, 0.83e9, model.PacketCost, "client1"},
		{"a little smaller", 9000, 8000, 7948, 0.96e9, model.None, ""},
		{"alike", 1500, 1500, 1448, 0.93e9, model.None, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := knobs{rate: tt.rate}.build()
			c.Sender.Facts.NICs[0].MTU, c.Receiver.Facts.NICs[0].MTU = tt.sender, tt.other
			for i := range c.Sender.Samples {
				x := &c.Sender.Samples[i].Conns[0]
				x.SndMSS, x.AdvMSS = tt.mss, tt.mss
			}
			v := Judge(c)
			if v.Limiter != tt.want || v.Host != tt.host {
				t.Fatalf("%s at %q: %s", v.Limiter, v.Host, v.Line)
			}
			if tt.want == model.None {
				return
			}
			if v.Fix.Kind != model.FixOperator || !strings.Contains(v.Fix.Advice, "MTU") || v.ExpectedGain == nil || v.ExpectedGain.High <= *v.Ceiling {
				t.Errorf("fix %+v, gain %+v", v.Fix, v.ExpectedGain)
			}
		})
	}
}

// Where all that was sent has arrived, it is not the path of the data that is down.
func TestLostAcknowledgmentsAreNoOutage(t *testing.T) {
	for _, tc := range []struct {
		came    int64 // of 276 segments
		there   int64 // bytes, of 188317 that are acknowledged and 204168 that are not
		backoff int
		most    float64
		says    string
	}{
		{100, 195556, 4, 0.7, "packets stop"},
		{273, 195556, 4, contradictedCap, "acknowledgments"},
		// Losses before the silence hide in the count of segments what the bytes show.
		{100, 188317 + 204168, 4, contradictedCap, "acknowledgments"},
		// Three repeats of one segment get lost now and then where many do.
		{100, 195556, 3, contradictedCap, "packets stop"},
	} {
		c := knobs{rate: 1, rtt: 11 * time.Millisecond, backoff: tc.backoff, cwnd: 1}.build()
		for i := range c.Sender.Samples {
			x, y := &c.Sender.Samples[i].Conns[0], &c.Receiver.Samples[i].Conns[0]
			x.BytesAcked, x.BytesSent, x.SegsOut, x.DataSegsOut, x.Unacked, x.TotalRetrans = 188317, 398276, 279, 276, 141, 4
			y.BytesReceived, y.DataSegsIn = tc.there, tc.came
		}
		v := Judge(c)
		if v.Limiter != model.Outage || v.Confidence > tc.most || !strings.Contains(v.Fix.Advice, tc.says) {
			t.Errorf("%+v: %s (%.2f): %s", tc, v.Limiter, v.Confidence, v.Line)
		}
		checkVerdict(t, c, v)
	}
}

// Large segments that are never acknowledged vanish, or their acknowledgments do. Where the receiver has
// them the path carries their size; where nobody sees the receiver, nothing tells.
func TestLostAcknowledgmentsAreNoBlackHole(t *testing.T) {
	c := recorded(t, "mtubh.cubic")
	got := *c.Receiver
	got.Samples = nil
	for i, s := range c.Receiver.Samples {
		s.Conns = append([]model.Conn(nil), s.Conns...)
		for k := range s.Conns {
			s.Conns[k].BytesReceived = int64(min(i, 10)) * 1448
		}
		got.Samples = append(got.Samples, s)
	}
	unseen := c
	unseen.Receiver, unseen.OneEnd = nil, true
	// afterSmall: small segments were acknowledged before.
	afterSmall := func(c Case, bytes int64) Case {
		c.Sender = withConns(c.Sender, func(x *model.Conn) { x.BytesAcked += bytes })
		return c
	}
	arrives := c
	arrives.Receiver = &got
	// An old connection: the receiver's counters begin with it, the sender's with the watch.
	old := c
	old.Sender = withConns(c.Sender, func(x *model.Conn) { x.From = model.FromEstats })
	old.Receiver = withConns(c.Receiver, func(x *model.Conn) { x.BytesReceived, x.DataSegsIn = 5e6, 4000 })
	others := c // of other connections, which a translator stands between
	others.Receiver = old.Receiver
	for _, tt := range []struct {
		name string
		c    Case
		want model.LimiterID
		most float64
	}{
		{"counted since the watch at one end", old, model.MTUBlackhole, unseenEndCap},
		{"more is there than was sent", others, model.MTUBlackhole, 0.95},
		{"nothing arrives", c, model.MTUBlackhole, 0.95},
		{"all arrives", arrives, model.Outage, contradictedCap},
		{"nothing arrives after a small request", afterSmall(c, 200), model.MTUBlackhole, 0.95},
		{"nobody sees what arrives", unseen, model.MTUBlackhole, unseenEndCap},
		{"nobody sees what arrives after a small request", afterSmall(unseen, 200), model.MTUBlackhole, unseenEndCap},
		{"nobody sees what arrives after two segments", afterSmall(unseen, 3000), model.MTUBlackhole, unseenEndCap},
	} {
		v := Judge(tt.c)
		if v.Limiter != tt.want || v.Confidence > tt.most || tt.most > 0.9 && v.Confidence < 0.7 {
			t.Errorf("%s: %s (%.2f) %s", tt.name, v.Limiter, v.Confidence, v.Line)
		}
	}
}
