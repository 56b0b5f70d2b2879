package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// reading is the receiving end alone of what k describes; edit changes its
// connection as the i-th sample shows it.
func reading(k knobs, edit func(i int, x *model.Conn)) Case {
	k.line = -1
	c := k.build()
	c.Sender = nil
	for i := range c.Receiver.Samples {
		c.Receiver.Samples[i].Tasks = nil
		edit(i, &c.Receiver.Samples[i].Conns[0])
	}
	return c
}

// asking: the receiver sends requests whose round trip is rtt.
func asking(rtt time.Duration) func(int, *model.Conn) {
	return func(i int, x *model.Conn) { x.RTT, x.DataSegsOut = rtt, int64(10*i) }
}

// late: n segments more come out of order with each sample.
func late(n int64) func(int, *model.Conn) {
	return func(i int, x *model.Conn) { x.RcvOOO = n * int64(i) }
}

// dropping: the socket has no room for what comes.
func dropping(i int, x *model.Conn) {
	asking(20*time.Millisecond)(i, x)
	x.SockDrops = int64(i)
}

// bursty: all of every fourth sample's bytes come at once.
func bursty(i int, x *model.Conn) {
	asking(20*time.Millisecond)(i, x)
	step := int64(300e6 / 80)
	x.BytesReceived += step*int64(i/4*4) - step*int64(i)
}

// promised is the case with a stated line rate.
func promised(c Case) Case {
	c.LineRate = model.Known(unit.Gbit)
	return c
}

func TestReceivingEndAlone(t *testing.T) {
	slow := knobs{rate: 300e6, rtt: 20 * time.Millisecond}
	near := knobs{rate: 20e6, rtt: 10 * time.Millisecond}
	busy := slow
	busy.busy, busy.kernel = [2]float64{0.99, 0.99}, [2]float64{0.2, 0.2}
	old := func(i int, x *model.Conn) { x.InfoLen, x.RcvWnd, x.RcvSsthresh = 232, 0, 85000 }
	for _, tc := range []struct {
		name    string
		c       Case
		want    model.LimiterID
		maxConf float64
	}{
		{"a queue stands, by its own requests", promised(reading(slow, asking(20*time.Millisecond))), model.LinkRate, 0.65},
		{"a queue stands, and nobody says what for", reading(slow, asking(20*time.Millisecond)), model.Undetermined, 0.3},
		{"a queue stands, by the data", promised(reading(slow, func(int, *model.Conn) {})), model.LinkRate, 0.5},
		{"its own requests meet no queue", reading(slow, asking(10*time.Millisecond)), model.Undetermined, 0.3},
		{"a few packets are no queue", reading(near, asking(13*time.Millisecond)), model.Undetermined, 0.3},
		{"what comes in bursts is not the link's", reading(slow, bursty), model.Undetermined, 0.3},
		{"gaps, and the rate they allow", reading(near, late(20)), model.PathLoss, 0.5},
		{"gaps at a rate they would not allow", reading(knobs{rate: 900e6, rtt: 10 * time.Millisecond}, late(20)), model.Undetermined, 0.3},
		{"too few gaps to matter", reading(knobs{rate: 900e6, rtt: 10 * time.Millisecond}, func(i int, x *model.Conn) { x.RcvOOO = int64(i / 20) }), model.Undetermined, 0.3},
		{"no CPU time left", reading(busy, dropping), model.ReceiverCPU, 0.5},
		{"cores full of work that takes nothing from the reader", promised(reading(busy, asking(20*time.Millisecond))), model.LinkRate, 0.65},
		{"a window on an old kernel", reading(knobs{rate: 64e6, rtt: 10 * time.Millisecond, rcvbuf: 262144, settings: map[string]string{rmemSetting: "4096 131072 262144"}}, old), model.ReceiverWindow, 0.65},
	} {
		v := Judge(tc.c)
		if v.Limiter != tc.want || v.Confidence > tc.maxConf {
			t.Errorf("%s: got %s (%.2f), want %s: %s", tc.name, v.Limiter, v.Confidence, tc.want, v.Line)
		}
		if len(v.Alternatives) == 0 {
			t.Errorf("%s: one end seen, and no alternative", tc.name)
		}
		checkVerdict(t, tc.c, v)
	}
}

// Kernels before 5.4 count segments out of order for the whole host only.
func TestGapsByHost(t *testing.T) {
	c := reading(knobs{rate: 20e6, rtt: 10 * time.Millisecond}, func(i int, x *model.Conn) { x.InfoLen, x.RcvSsthresh = 200, 1<<20 })
	for i := range c.Receiver.Samples {
		c.Receiver.Samples[i].SNMP = map[string]int64{"TcpExt.TCPOFOQueue": int64(1000 + 20*i)}
	}
	if v := Judge(c); v.Limiter != model.PathLoss || v.Confidence > 0.5 {
		t.Errorf("got %s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
}

// Losses hold a loss-based sender at a rate; far above it they do not.
func TestLossIsBoundedBeforeItIsBlamed(t *testing.T) {
	c := knobs{rate: 900e6, line: 2e9, rtt: 10 * time.Millisecond, retrans: 0.002}.build()
	v := Judge(c)
	if v.Limiter != model.Undetermined || !strings.Contains(v.Line, "would allow no more than") {
		t.Errorf("got %s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
	checkVerdict(t, c, v)
}

// A round trip a fifth above its minimum is four packets at 20 Mbit/s.
func TestNoiseIsNoQueue(t *testing.T) {
	k := knobs{rate: 20e6, rtt: 12 * time.Millisecond, retrans: 0.002}
	if v := Judge(k.build()); v.Limiter != model.PathLoss {
		t.Errorf("got %s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
	k = knobs{rate: 2e6, rtt: 150 * time.Millisecond, minRTT: 20 * time.Millisecond}
	if v := Judge(k.build()); v.Limiter != model.LinkRate {
		t.Errorf("few bytes, yet a long queue: got %s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
}

// Ten segments of 9000 bytes are more than the first window of 64 KiB.
func TestJumboBlackholeIsNoWindow(t *testing.T) {
	for _, tc := range []struct {
		backoff int
		most    float64
	}{{0, 0.6}, {1, 0.6}, {4, 0.95}} {
		c := knobs{rate: 1, rtt: 10 * time.Millisecond, wnd: 62669, backoff: tc.backoff, rwnd: 0.5, cwnd: 10}.build()
		for i := range c.Sender.Samples {
			x := &c.Sender.Samples[i].Conns[0]
			x.SndMSS, x.AdvMSS, x.PMTU = 8948, 8948, 9000
			x.Unacked, x.BytesAcked, x.BytesSent, x.SegsOut = 8, 120, 89600+8948*int64(i), int64(10+i)
			x.TotalRetrans, x.BytesRetrans = i*54/100, 8948*int64(i)*54/100
			c.Receiver.Samples[i].Conns[0].BytesReceived = 120
		}
		v := Judge(c)
		if v.Limiter != model.MTUBlackhole || v.Confidence > tc.most {
			t.Errorf("backoff %d: got %s (%.2f): %s", tc.backoff, v.Limiter, v.Confidence, v.Line)
		}
		checkVerdict(t, c, v)
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0.0000123: "0.0123 ms", 0.0012: "1.2 ms", 0.6427: "643 ms", 0.99949: "999 ms", 0.99996: "1 s", 2.387: "2.39 s", 99.94: "99.9 s", 1234: "1234 s", unknown(): "an unknown time"} {
		if got := seconds(s); got != want {
			t.Errorf("%v: %q, want %q", s, got, want)
		}
	}
}
