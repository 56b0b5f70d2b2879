package explain

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// limiters of a verdict's causes, in their order.
func causeIDs(v model.Verdict) []model.LimiterID {
	var out []model.LimiterID
	for _, c := range v.Causes {
		out = append(out, c.Limiter)
	}
	return out
}

func TestCausesInTheOrderTheyBind(t *testing.T) {
	smallWindow := map[string]string{rmemSetting: "4096 131072 262144"} // 165 KB of window: 132 Mbit/s at 10 ms
	smallBuffer := map[string]string{wmemSetting: "4096 16384 524288"}  // 384 KiB of payload: 315 Mbit/s
	both := map[string]string{rmemSetting: "4096 131072 262144", wmemSetting: "4096 16384 524288"}
	window := knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, full: true, rwnd: 0.9, wnd: 128 << 10, rcvbuf: 262144}
	for _, tt := range []struct {
		name string
		k    func() knobs
		want []model.LimiterID
		next float64 // bit/s, 0: the ceiling
	}{
		{"a window alone", func() knobs { k := window; k.settings = smallWindow; return k }, ids(model.ReceiverWindow), 0},
		{"a window, then a send buffer", func() knobs { k := window; k.settings = both; return k }, ids(model.ReceiverWindow, model.SendBuffer), 314.6e6},
		{"a window, then loss", func() knobs { k := window; k.settings, k.retrans = smallWindow, 1e-4; return k }, ids(model.ReceiverWindow, model.PathLoss), -1},
		{"loss, then a window", func() knobs {
			return knobs{rate: 0.05e9, rtt: 10 * time.Millisecond, retrans: 2e-3, settings: smallWindow, cwnd: 40, rcvbuf: 200000}
		}, ids(model.PathLoss, model.ReceiverWindow), 131.8e6},
		{"a window, then a reader that needs its core", func() knobs {
			k := window
			k.settings, k.run = smallWindow, [2]float64{0, 0.55}
			return k
		}, ids(model.ReceiverWindow, model.ReceiverCPU), 0.1e9 / 0.55},
		{"a send buffer that is ample in the end", func() knobs {
			k := window
			k.settings = map[string]string{rmemSetting: smallWindow[rmemSetting], wmemSetting: "4096 16384 67108864"}
			return k
		}, ids(model.ReceiverWindow), 0},
		{"a healthy path with a small send buffer", func() knobs { return knobs{settings: smallBuffer} }, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Judge(tt.k().build())
			if got := causeIDs(v); !slices.Equal(got, tt.want) {
				t.Fatalf("causes %v, want %v; %s", got, tt.want, v.Line)
			}
			if tt.want == nil {
				return
			}
			checkChain(t, v)
			switch n := v.NextLimit; {
			case n == nil:
				t.Error("no next limit")
			case tt.next == 0 && n.Limiter != model.None, tt.next != 0 && n.Limiter != tt.want[1]:
				t.Errorf("next limit is %s", n.Limiter)
			case tt.next > 0 && math.Abs(float64(n.At)/tt.next-1) > 0.02:
				t.Errorf("next limit from %s, want %.4g bit/s", n.At, tt.next)
			}
			if named := strings.Contains(v.Line, "Next: "); named != (tt.next != 0) {
				t.Errorf("the line: %s", v.Line)
			}
		})
	}
}

// checkChain: the first cause is the verdict; gains are ranges that add up to
// no more than the ceiling.
func checkChain(t *testing.T, v model.Verdict) {
	t.Helper()
	if c := v.Causes[0]; c.Limiter != v.Limiter || c.Confidence != v.Confidence || c.Fix != v.Fix || len(c.Evidence) != len(v.Evidence) {
		t.Errorf("the first cause is not the verdict: %+v", c)
	}
	for _, c := range v.Causes {
		if c.GainLow == nil {
			continue
		}
		if *c.GainLow < 0 || *c.GainLow > *c.GainHigh || v.Measured+*c.GainHigh > *v.Ceiling*1.0001 {
			t.Errorf("%s: gain %s to %s on top of %s of %s", c.Limiter, c.GainLow, c.GainHigh, v.Measured, v.Ceiling)
		}
		if c.Confidence <= 0 || c.Confidence > 1 || len(c.Evidence) == 0 {
			t.Errorf("%s: confidence %.2f, %d pieces of evidence", c.Limiter, c.Confidence, len(c.Evidence))
		}
	}
}

// A single recorded fault has one cause, or others that were seen as well:
// nothing that is plainly absent is forecast.
func TestRecordedSingleFaultsHaveOneCause(t *testing.T) {
	for _, l := range readLabels(t) {
		v := Judge(recorded(t, l.Name))
		if v.NextLimit != nil && v.NextLimit.Limiter != model.None {
			t.Errorf("%s: %s", l.Name, v.Line)
		}
		if claimsNothing(v.Limiter) != (len(v.Causes) == 0) {
			t.Errorf("%s: %s with %d causes", l.Name, v.Limiter, len(v.Causes))
		}
	}
}

func TestProbeTellsTheAlternativesApart(t *testing.T) {
	v := model.Verdict{Limiter: model.PathLoss, Alternatives: []model.Alternative{
		{Limiter: model.PathQueue, Probe: "send slowly"}, {Limiter: model.Reordering, Probe: "log in"}, {Limiter: model.LinkRate, Probe: "send slowly"}}}
	p := probeFor(&v)
	if p == nil || p.Do != "send slowly" || !slices.Equal(p.Between, ids(model.PathLoss, model.PathQueue, model.LinkRate)) {
		t.Errorf("%+v", p)
	}
	if p := probeFor(&model.Verdict{Limiter: model.PathLoss}); p != nil {
		t.Errorf("a probe between nothing: %+v", p)
	}
}

func ids(v ...model.LimiterID) []model.LimiterID { return v }

// Without a known ceiling nothing far away is foretold.
func TestNoLimitIsForetoldFarAway(t *testing.T) {
	for settings, want := range map[string]model.LimiterID{"4096 16384 524288": model.SendBuffer, "4096 16384 67108864": ""} {
		k := knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, full: true, rwnd: 0.9, wnd: 128 << 10, rcvbuf: 262144, line: -1,
			settings: map[string]string{rmemSetting: "4096 131072 262144", wmemSetting: settings}}
		v := Judge(k.build())
		var got model.LimiterID
		if v.NextLimit != nil {
			got = v.NextLimit.Limiter
		}
		if v.Limiter != model.ReceiverWindow || got != want {
			t.Errorf("tcp_wmem %s: next is %q: %s", settings, got, v.Line)
		}
	}
}

// Two buffers are too small. What is foretold of the sender's, once the receiver's is mended, holds
// what was measured in a lab, where 0.87 of 524288 bytes were payload, and not 0.75.
func TestForecastOfASecondBuffer(t *testing.T) {
	k := knobs{rate: 0.154e9, rtt: 10 * time.Millisecond, full: true, rwnd: 0.9, wnd: 197 << 10, rcvbuf: 262144, line: 1e9,
		settings: map[string]string{rmemSetting: "4096 131072 262144", wmemSetting: "4096 16384 524288"}}
	v := Judge(k.build())
	g, n := v.ExpectedGain, v.NextLimit
	if v.Limiter != model.ReceiverWindow || g == nil || n == nil || n.Limiter != model.SendBuffer {
		t.Fatalf("%s: %+v, next %+v", v.Line, g, n)
	}
	if came := unit.BitRate(0.87 * 524288 * 8 / 0.010); g.Low > came || g.High < came || n.Low > came || n.High < came {
		t.Errorf("expected %v to %v, next %v to %v; %v came", g.Low, g.High, n.Low, n.High, came)
	}
}

// A program that asks for more than net.core allows gets exactly twice that
// (open-iscsi does so by default), and the setting is what to change.
func TestBufferCappedByNetCore(t *testing.T) {
	caps := map[string]string{rmemMaxSetting: "212992", wmemMaxSetting: "212992"}
	window := knobs{rate: 0.16e9, rtt: 10 * time.Millisecond, full: true, rwnd: 0.9, wnd: 200 << 10, rcvbuf: 425984, settings: caps}
	for _, c := range []Case{window.build(), Watched(window.build().Receiver, model.Known(bitRate(1e9)))} {
		v := Judge(c)
		if v.Limiter != model.ReceiverWindow || v.Fix.Setting != rmemMaxSetting || v.Fix.From != "212992" || v.Fix.To != "2097152" || v.Fix.Host != "server1" {
			t.Errorf("%s, fix %+v", v.Line, v.Fix)
		}
	}
	buffer := knobs{rate: 0.16e9, rtt: 10 * time.Millisecond, sndbuf: 0.4, sndbufSz: 425984, sendQ: 400000, notsent: 200000, settings: caps}
	if v := Judge(buffer.build()); v.Limiter != model.SendBuffer || v.Fix.Setting != wmemMaxSetting {
		t.Errorf("%s, fix %+v", v.Line, v.Fix)
	}
	window.rcvbuf = 425986
	if v := Judge(window.build()); v.Fix.Kind != model.FixOperator {
		t.Errorf("a buffer of another size: %+v", v.Fix)
	}
}

// A congestion window that is not used does not grow, and then looks full: the
// send buffer is the limit all the same.
func TestSendBufferBehindASmallCongestionWindow(t *testing.T) {
	k := knobs{rate: 0.17e9, rtt: 10 * time.Millisecond, sndbufSz: 262144, sendQ: 220000, notsent: -1, cwnd: 147,
		settings: map[string]string{wmemSetting: "4096 16384 262144"}}
	c := k.build()
	for i := range c.Sender.Samples {
		c.Sender.Samples[i].Conns[0].Unacked = 147
	}
	if v := Judge(c); v.Limiter != model.SendBuffer || v.Fix.Setting != wmemSetting {
		t.Error(v.Line)
	}
}

// Probing that finds a size only a little below the agreed one is a blackhole
// too: the timeouts came first.
func TestProbedALittleBelow(t *testing.T) {
	k := knobs{rate: 0.26e9, rtt: 10 * time.Millisecond, retrans: 1.4e-3}
	c := k.build()
	for i := range c.Sender.Samples {
		s := &c.Sender.Samples[i]
		s.Conns[0].AdvMSS, s.Conns[0].SndMSS, s.Conns[0].PMTU, s.Conns[0].TotalRTO = 1448, 1440, 1500, 4
		s.SNMP = map[string]int64{"TcpExt.TCPMTUPSuccess": int64(min(i, 1))}
	}
	if v := Judge(c); v.Limiter != model.MTUBlackhole {
		t.Error(v.Line)
	}
	for i := range c.Sender.Samples {
		c.Sender.Samples[i].SNMP = nil
	}
	if v := Judge(c); v.Limiter == model.MTUBlackhole {
		t.Errorf("without a probe that succeeded: %s", v.Line)
	}
}
