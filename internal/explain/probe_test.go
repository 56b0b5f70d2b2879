package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// lossy is a stream of 100 Mbit/s that a loss-based sender cannot raise, at the
// share of losses; its verdict asks for the paced probe.
func lossy(share float64) knobs {
	return knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, retrans: share, cwnd: 90}
}

func TestPlanPaced(t *testing.T) {
	c := lossy(1e-3).build()
	v := Judge(c)
	p, ok := PlanPaced(c, v)
	// 90 Mbit/s are 7770 segments a second, of which 7.8 are lost.
	if all := p.Rate * unit.BitRate(p.Streams); !ok || all < 89e6 || all > 91e6 || p.Streams != 2 || p.Share < 0.9e-3 || p.Share > 1.1e-3 || p.Duration != shortestProbe+p.Warmup {
		t.Fatalf("%v %+v for %s", ok, p, v.Line)
	}
	c = lossy(3e-4).build()
	if p, ok := PlanPaced(c, Judge(c)); !ok || p.Duration < 3*time.Second || p.Duration > 5*time.Second {
		t.Errorf("at fewer losses: %v %+v", ok, p)
	}
	c = lossy(4e-5).build()
	if p, ok := PlanPaced(c, Judge(c)); ok {
		t.Errorf("a probe of %s was planned", p.Duration)
	}
	c = knobs{}.build()
	if _, ok := PlanPaced(c, Judge(c)); ok {
		t.Error("a probe of a healthy path was planned")
	}
}

// A fast probe goes in many connections: one that may send 760 Mbit/s sends 64 KiB at once, which
// a shallow queue drops of as well.
func TestPacedProbeIsEven(t *testing.T) {
	k := lossy(1e-3)
	k.rate, k.cwnd = 0.8e9, 700
	c := k.build()
	v := Judge(c)
	v.Probe = &model.Probe{Do: pacedProbe}
	p, ok := PlanPaced(c, v)
	if !ok || p.Streams < 14 || p.Streams > 16 || float64(p.Rate) > pacedEven || float64(p.Rate)*float64(p.Streams) < 0.71e9 {
		t.Fatalf("%v, %d connections of %s", ok, p.Streams, p.Rate)
	}
	few := lossy(1e-3)
	few.streams = 3
	slow := few.build()
	if p, ok := PlanPaced(slow, Judge(slow)); !ok || p.Streams != 3 {
		t.Errorf("a slow probe: %v, %+v", ok, p)
	}
}

// Losses that stay, many at a time, are no proof where the probe itself sends many at once.
func TestPacedProbeInBursts(t *testing.T) {
	before := lossy(1e-3).build()
	v := Judge(before)
	p, _ := PlanPaced(before, v)
	p.Share = 0.01
	k := lossy(0.01)
	k.rate, k.samples = 0.09e9, 40
	c := k.build()
	for i := range c.Sender.Samples { // all of a second's losses at once
		x := &c.Sender.Samples[i].Conns[0]
		x.TotalRetrans = c.Sender.Samples[i-i%10].Conns[0].TotalRetrans
	}
	if got := p.after(v, c); got.Confidence != settled || got.Limiter != model.PathLoss {
		t.Errorf("5 segments at once: %s %.2f %q", got.Limiter, got.Confidence, got.Notes)
	}
	fast := p
	fast.Streams, fast.Rate = 1, 600e6 // as if it had only one connection
	k.rate = 0.6e9
	c = k.build()
	for i := range c.Sender.Samples {
		x := &c.Sender.Samples[i].Conns[0]
		x.TotalRetrans = c.Sender.Samples[i-i%10].Conns[0].TotalRetrans
	}
	got := fast.after(v, c)
	if got.Confidence != v.Confidence || !strings.Contains(strings.Join(got.Notes, " "), "segments at once") {
		t.Errorf("50 segments at once: %s %.2f %q", got.Limiter, got.Confidence, got.Notes)
	}
}

func TestAfterPaced(t *testing.T) {
	before := lossy(1e-3).build()
	v := Judge(before)
	p, ok := PlanPaced(before, v)
	if v.Limiter != model.PathLoss || !ok {
		t.Fatal(v.Line)
	}
	probe := func(rate, share float64) Case {
		k := lossy(share)
		k.rate, k.samples = rate, 25
		return k.build()
	}
	for _, tt := range []struct {
		name string
		c    Case
		want model.LimiterID
		sure float64 // confidence
		says string
	}{
		{"they stay", probe(0.09e9, 1e-3), model.PathLoss, settled, "losses stay"},
		{"they go", probe(0.09e9, 0), model.PathQueue, settledBelow, "losses go"},
		{"some go", probe(0.09e9, 2.3e-4), model.PathLoss, v.Confidence, "settles nothing"},
		{"it did not get that far", probe(0.05e9, 0), model.PathLoss, v.Confidence, "settles nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := p.after(v, tt.c)
			got.Line = Line(got)
			said := strings.Join(got.Notes, "; ")
			if len(got.Evidence) > 0 {
				said += got.Evidence[0].What
			}
			if got.Limiter != tt.want || got.Confidence != tt.sure || !strings.Contains(said, tt.says) {
				t.Fatalf("%s %.2f: %s", got.Limiter, got.Confidence, said)
			}
			if got.Causes[0].Limiter != got.Limiter || got.Causes[0].Confidence != got.Confidence {
				t.Errorf("the first cause is %+v", got.Causes[0])
			}
			if decided := tt.sure != v.Confidence; decided != (got.Probe == nil || got.Probe.Do != pacedProbe) {
				t.Errorf("the probe that is left: %+v", got.Probe)
			}
			if !strings.Contains(got.Line, string(tt.want)) {
				t.Error(got.Line)
			}
			if tt.want == model.PathQueue && !strings.Contains(got.Fix.Advice, "queue") {
				t.Errorf("the advice: %s", got.Fix.Advice)
			}
		})
	}
	if v.Evidence[0].Metric == "paced_losses" {
		t.Error("the verdict that was passed in has changed")
	}
}

// Losses that come many at a time are not gone where a probe may have met none by chance.
func TestPacedProbeOfBursts(t *testing.T) {
	c := lossy(2e-3).build()
	v := Judge(c)
	p, _ := PlanPaced(c, v)
	k := lossy(0)
	k.rate, k.samples = 0.09e9, 25
	for burst, want := range map[float64]model.LimiterID{1: model.PathQueue, 4: model.PathQueue, 40: model.PathLoss} {
		p.Burst = burst
		got := p.after(v, k.build())
		if got.Limiter != want {
			t.Errorf("bursts of %.0f: %s; %q", burst, got.Limiter, got.Notes)
		}
	}
	for i := range c.Sender.Samples { // all of a second's losses at once
		x := &c.Sender.Samples[i].Conns[0]
		x.TotalRetrans = c.Sender.Samples[i-i%10].Conns[0].TotalRetrans
	}
	if q, ok := PlanPaced(c, Judge(c)); ok && (!(q.Burst > 3) || q.Duration <= p.Duration) {
		t.Errorf("bursts of %.1f are probed for %v, single losses for %v", q.Burst, q.Duration, p.Duration)
	}
}

// Losses that come and go are not gone where as long a time passed without one before.
func TestPacedProbeAfterAPause(t *testing.T) {
	before := lossy(2e-3).build()
	all := before.Sender.Samples
	for i := range all { // none in the first half
		x := &all[i].Conns[0]
		x.TotalRetrans = max(0, x.TotalRetrans-all[len(all)/2].Conns[0].TotalRetrans)
	}
	v := Judge(before)
	p, ok := PlanPaced(before, v)
	if want := all[len(all)/2].At - all[0].At; !ok || p.Quiet < want/2 || p.Quiet > want {
		t.Fatalf("%v, quiet for %v of %v: %s", ok, p.Quiet, want, v.Line)
	}
	k := lossy(0)
	k.rate, k.samples = 0.09e9, 25
	for _, quiet := range []time.Duration{0, p.Duration} {
		p.Quiet, p.Burst = quiet, 1
		if got := p.after(v, k.build()); (got.Confidence > v.Confidence) != (quiet == 0) {
			t.Errorf("quiet for %v: %s %.2f, was %.2f; %q", quiet, got.Limiter, got.Confidence, v.Confidence, got.Notes)
		}
	}
}
