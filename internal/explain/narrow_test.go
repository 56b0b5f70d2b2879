package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// oneEnd is the case of one end alone, as a watch without a login makes it.
func oneEnd(c Case, receiver bool) Case {
	c.Passive = true
	if receiver {
		c.Sender = nil
	} else {
		c.Receiver = nil
	}
	return c
}

func noted(v model.Verdict, what string) bool {
	return slices.ContainsFunc(v.Notes, func(n string) bool { return strings.Contains(n, what) })
}

// The same transfer, watched for 2 s, is the same verdict with less confidence
// and the reason.
func TestBriefWatchIsLessSure(t *testing.T) {
	window := func(n int) Case {
		k := knobs{rate: 121e6, rtt: 10 * time.Millisecond, wnd: 164 << 10, full: true, rwnd: 0.95, samples: n,
			settings: map[string]string{rmemSetting: "4096 131072 262144"}}
		return oneEnd(k.build(), false)
	}
	judged := func(c Case) model.Verdict {
		v := fromOneEnd(c)
		checkVerdict(t, c, v)
		return v
	}
	brief, full := judged(window(20)), judged(window(120))
	if brief.Limiter != model.ReceiverWindow || full.Limiter != model.ReceiverWindow {
		t.Fatalf("named %s and %s", brief.Limiter, full.Limiter)
	}
	if brief.Confidence >= full.Confidence || brief.Confidence > 0.55 || brief.Causes[0].Confidence != brief.Confidence {
		t.Errorf("confidence %.2f of 2 s, %.2f of 12 s", brief.Confidence, full.Confidence)
	}
	if !noted(brief, "watched for 2 s only") || noted(full, "watched for") {
		t.Errorf("notes %q and %q", brief.Notes, full.Notes)
	}
	both := window(20)
	both.Receiver = knobs{samples: 20}.build().Receiver
	if v := Judge(both); noted(v, "watched for") {
		t.Error("a verdict on both ends was narrowed")
	}
}

// fromOneEnd is the verdict on a case of which only one end can be reached.
func fromOneEnd(c Case) model.Verdict {
	c.OneEnd = true
	return Judge(c)
}

// Cores full of somebody else's user work are no limit of a reader that does
// not wait for them; one that does wait is short of CPU.
func TestSomebodyElsesWorkIsNotTheReaders(t *testing.T) {
	full := knobs{rate: 300e6, rtt: 20 * time.Millisecond, samples: 120, busy: [2]float64{0.99, 0.99}, kernel: [2]float64{0.05, 0.05}}
	for _, tc := range []struct {
		name      string
		run, wait float64
		edit      func(i int, s *model.Sample)
		cpu       bool // receiver-cpu above 0.5 is right
	}{
		{"the reader does not wait", 0.1, 0.02, nil, false},
		{"nobody tells how the reader fares", 0, 0, func(_ int, s *model.Sample) { s.Tasks = nil }, false},
		{"nor does a quota of the watcher's own", 0, 0, func(i int, s *model.Sample) {
			s.Tasks, s.Throttled = nil, model.Known(time.Duration(i)*80*time.Millisecond)
		}, false},
		{"packets are dropped at the socket besides", 0, 0, func(i int, s *model.Sample) { s.Tasks, s.Conns[0].SockDrops = nil, int64(i) }, false},
		{"the reader waits most of the time", 0.2, 0.75, func(_ int, s *model.Sample) { s.Conns[0].RecvQ = 3 << 20 }, true},
	} {
		k := full
		k.run[1], k.wait[1] = tc.run, tc.wait
		c := oneEnd(k.build(), true)
		for i := range c.Receiver.Samples {
			if tc.edit != nil {
				tc.edit(i, &c.Receiver.Samples[i])
			}
		}
		v := fromOneEnd(c)
		t.Logf("%s: %s (%.2f)", tc.name, v.Limiter, v.Confidence)
		if got := v.Limiter == model.ReceiverCPU && v.Confidence > 0.5; got != tc.cpu {
			t.Errorf("%s: %s (%.2f): %s", tc.name, v.Limiter, v.Confidence, v.Line)
		}
		checkVerdict(t, c, v)
	}
}

// From the sending end the same: a writer that keeps its socket full lacks no
// CPU, whoever fills the cores.
func TestSomebodyElsesWorkIsNotTheWriters(t *testing.T) {
	c := oneEnd(knobs{rate: 300e6, rtt: 20 * time.Millisecond, samples: 120, busy: [2]float64{0.99, 0.99}, kernel: [2]float64{0.05, 0.05}}.build(), false)
	for i := range c.Sender.Samples {
		c.Sender.Samples[i].Tasks = nil
	}
	if v := fromOneEnd(c); (v.Limiter == model.SenderCPU || v.Limiter == model.ReceiverCPU) && v.Confidence > 0.5 {
		t.Errorf("%s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
}

// Whatever is given, nothing is made surer and nothing is lost.
func TestNarrowOnlyLowers(t *testing.T) {
	for _, c := range []Case{{}, {Sender: &End{}}, oneEnd(knobs{samples: 2}.build(), true), oneEnd(knobs{}.build(), false)} {
		v := Judge(c)
		n := fromOneEnd(c)
		if n.Confidence > v.Confidence || n.Limiter != v.Limiter || n.Line != v.Line || len(n.Notes) < len(v.Notes) {
			t.Errorf("%+v became %+v", v, n)
		}
	}
}

// Without a known line rate a path that is full is not called slow: what would
// have to be stated is, with the rate that it carries.
func TestFullPathWithoutALineRate(t *testing.T) {
	for name, k := range map[string]knobs{
		"cubic": {line: -1}, "bbr": {line: -1, cc: "bbr", rtt: 10500 * time.Microsecond},
		"a slow one": {line: -1, rate: 300e6},
	} {
		c := k.build()
		v := Judge(c)
		checkVerdict(t, c, v)
		if v.Limiter != model.Undetermined || v.Confidence > 0.3 || !strings.Contains(v.Line, "the path is full at") || !strings.Contains(v.Line, "--line-rate") ||
			len(v.Alternatives) == 0 || v.Alternatives[0].Limiter != model.LinkRate || len(v.Causes) > 0 || v.NextLimit != nil {
			t.Errorf("%s: %s (%.2f) %s", name, v.Limiter, v.Confidence, v.Line)
		}
	}
	for _, name := range []string{"healthy.cubic", "healthy.bbr", "tsoff.cubic", "lowat1.bbr"} {
		c := readRecording(t, name)
		c.LineRate = model.Fact[bitRate]{}
		if v := Judge(c); v.Limiter != model.Undetermined || v.Confidence > 0.5 {
			t.Errorf("%s: %s (%.2f) %s", name, v.Limiter, v.Confidence, v.Line)
		}
	}
}
