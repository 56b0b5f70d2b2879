package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// What the ladder measured besides bears on the verdict, and no probe is proposed that
// it has made.
func TestRungsBearOnTheVerdict(t *testing.T) {
	rungs := func(one, all, back float64) map[string]unit.BitRate {
		return map[string]unit.BitRate{RungStream: unit.BitRate(one), RungStreams: unit.BitRate(all), RungReverse: unit.BitRate(back)}
	}
	link := knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}.build()
	for _, tt := range []struct {
		name  string
		c     Case
		rungs map[string]unit.BitRate
		want  model.LimiterID
		says  string // contradicts it; empty: nothing does
		still string // a probe that is left
	}{
		{"nothing else was run", link, nil, model.LinkRate, "", "test the reverse direction"},
		{"all fits", link, rungs(0.5e9, 0.5e9, 0.9e9), model.LinkRate, "", ""},
		{"several carry more", link, rungs(0.5e9, 0.9e9, 0.9e9), model.LinkRate, "no link is as slow", ""},
		{"several carry less", link, rungs(0.5e9, 0.2e9, 0.9e9), model.LinkRate, "as much for several", ""},
		{"the other direction carries nothing", link, rungs(0.5e9, 0.5e9, 0), model.LinkRate, "other direction carried 0", ""},
		{"a window, and several carry more", windowed().build(), rungs(0.1e9, 0.6e9, 0.9e9), model.ReceiverWindow, "", ""},
		{"a window, and several carry no more", windowed().build(), rungs(0.1e9, 0.1e9, 0.9e9), model.ReceiverWindow, "would let several", ""},
	} {
		tt.c.Rungs = tt.rungs
		v := Judge(tt.c)
		said, probes := "", ""
		for _, x := range v.Contradictions {
			said += x.What
		}
		for _, a := range v.Alternatives {
			probes += a.Probe + ";"
		}
		if v.Limiter != tt.want || tt.says == "" && said != "" || !strings.Contains(said, tt.says) || (tt.says != "") != (v.Confidence <= contradictedCap) {
			t.Errorf("%s: %.2f %q %s", tt.name, v.Confidence, said, v.Line)
		}
		if tt.rungs != nil && (strings.Contains(probes, "reverse direction") || strings.Contains(probes, "second stream:")) || !strings.Contains(probes, tt.still) {
			t.Errorf("%s: probes %q", tt.name, probes)
		}
	}
}

// A rung that was measured and does not bear on the verdict is named as such.
func TestRungsWithoutBearingAreNamed(t *testing.T) {
	rungs := map[string]unit.BitRate{RungStream: 0.1e9, RungStreams: 0.6e9, RungReverse: 0.9e9, RungLoopback: 5e9}
	for _, tt := range []struct {
		name   string
		k      knobs
		unused string // empty: none
	}{
		{"a window", windowed(), "N TCP streams (600 Mbit/s), N TCP streams, reverse (900 Mbit/s), local loopback (5 Gbit/s)"},
		{"a slow link", knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}, "verdict: local loopback (5 Gbit/s)"},
		{"nothing to explain", knobs{}, ""},
	} {
		c := tt.k.build()
		c.Rungs = rungs
		said := strings.Join(Judge(c).Notes, "\n")
		if got := strings.Contains(said, "without bearing"); got != (tt.unused != "") || !strings.Contains(said, tt.unused) {
			t.Errorf("%s: %q, want %q", tt.name, said, tt.unused)
		}
	}
}

// Where TCP is as slow inside a host as between the hosts, no cable is to blame. A loopback that
// carries more, or what its core can, says nothing of that kind.
func TestTheFirstDropMayBeInsideAHost(t *testing.T) {
	rung := func(name string, measured, predicted unit.BitRate) model.Rung {
		return model.Rung{Rung: name, Seen: true, Measured: &measured, Predicted: &predicted}
	}
	for _, c := range []struct {
		loopback, core, stream, predicted unit.BitRate
		inside                            bool
	}{
		{71.3 * unit.Mbit, 400 * unit.Gbit, 83.5 * unit.Mbit, 990 * unit.Mbit, true},
		{71.3 * unit.Mbit, 75 * unit.Mbit, 83.5 * unit.Mbit, 990 * unit.Mbit, false},
		{28 * unit.Gbit, 400 * unit.Gbit, 83.5 * unit.Mbit, 990 * unit.Mbit, false},
		{30 * unit.Gbit, 400 * unit.Gbit, 35 * unit.Gbit, 90 * unit.Gbit, false},
		{700 * unit.Mbit, 400 * unit.Gbit, 83.5 * unit.Mbit, 990 * unit.Mbit, false},
		{400 * unit.Mbit, 400 * unit.Gbit, 270 * unit.Mbit, 990 * unit.Mbit, false},
		{290 * unit.Mbit, 400 * unit.Gbit, 270 * unit.Mbit, 990 * unit.Mbit, true},
		{90 * unit.Mbit, 400 * unit.Gbit, 93 * unit.Mbit, 95 * unit.Mbit, false},
	} {
		got := FirstDrop([]model.Rung{rung(RungLoopback, c.loopback, c.core), rung(RungStream, c.stream, c.predicted)})
		if strings.Contains(got, "inside one of the hosts") != c.inside {
			t.Errorf("%+v: %q", c, got)
		}
	}
	one := []model.Rung{rung(RungLoopback, 71.3*unit.Mbit, 0), rung(RungStream, 83.5*unit.Mbit, 990*unit.Mbit)}
	one[0].Predicted = nil
	if got := FirstDrop(one); !strings.Contains(got, "inside one of the hosts") {
		t.Errorf("nothing predicts the loopback: %q", got)
	}
}

// A verdict about the path is held against a host that is as slow inside, and not against one that is
// faster.
func TestAHostThatIsSlowInsideIsHeldAgainstThePath(t *testing.T) {
	for inside, want := range map[unit.BitRate]int{
		71 * unit.Mbit: 1, 90 * unit.Mbit: 1, 100 * unit.Mbit: 0, 120 * unit.Mbit: 0, 28 * unit.Gbit: 0,
	} {
		v := model.Verdict{Limiter: model.PathQueue, Where: model.AtPath, Confidence: 0.75}
		weigh(&v, map[string]unit.BitRate{RungStream: 83 * unit.Mbit, RungLoopback: inside})
		if len(v.Contradictions) != want || (v.Confidence < 0.75) != (want > 0) {
			t.Errorf("inside %s: %+v", inside, v)
		}
	}
}
