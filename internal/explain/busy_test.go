package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// On a machine with more work than cores a path is not called slow with confidence;
// what a socket shows by itself stays.
func TestBusyMachine(t *testing.T) {
	pressed := func(c Case, share float64) Case {
		for _, e := range []*End{c.Sender, c.Receiver} {
			for i := range e.Samples {
				e.Samples[i].Pressure = &model.Pressure{CPU: time.Duration(share * float64(e.Samples[i].At))}
			}
		}
		return c
	}
	link := knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}
	full := link
	full.busy, full.kernel = [2]float64{0.99, 0.97}, [2]float64{0.3, 0.3}
	waits := full
	waits.wait = [2]float64{0.2, 0}
	window := windowed()
	window.busy, window.kernel = full.busy, full.kernel
	for _, tt := range []struct {
		name string
		c    Case
		want model.LimiterID
		busy bool
	}{
		{"quiet", link.build(), model.LinkRate, false},
		{"full of work that waits", pressed(full.build(), 0.8), model.LinkRate, true},
		{"full, and nothing waits", pressed(full.build(), 0.05), model.LinkRate, false},
		{"pressure not counted, but the writer waits", waits.build(), model.LinkRate, true},
		{"a window is full all the same", pressed(window.build(), 0.8), model.ReceiverWindow, false},
	} {
		v := Judge(tt.c)
		said := strings.Contains(strings.Join(v.Notes, "; "), "is busy")
		if v.Limiter != tt.want || said != tt.busy || tt.busy == (v.Confidence > busyMachineCap) {
			t.Errorf("%s: %.2f %v %v %s", tt.name, v.Confidence, v.Notes, v.Contradictions, v.Line)
		}
	}
}

// Where the lab that emulates a path lost frames by itself, the path is not blamed with
// confidence, by a probe either; what a socket shows by itself stays.
func TestLossesOfALab(t *testing.T) {
	slow := knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}
	lossy := knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, retrans: 2e-3, cwnd: 40}
	sure := func(v model.Verdict) model.Verdict {
		v.Confidence = 0.9
		return v
	}
	for _, tt := range []struct {
		name   string
		c      Case
		trials []Trial
		want   model.LimiterID
		capped bool
	}{
		{"a slow link", slow.build(), nil, model.LinkRate, true},
		{"losses", lossy.build(), nil, model.PathLoss, true},
		{"losses that a probe confirmed", lossy.build(), []Trial{sure}, model.PathLoss, true},
		{"a window", windowed().build(), nil, model.ReceiverWindow, false},
		{"nothing is wrong", knobs{}.build(), nil, model.None, false},
	} {
		tt.c.Trials = tt.trials
		quiet := Judge(tt.c)
		tt.c.Lost = []string{"the emulated links lost 7 frames of their own accord"}
		v := Judge(tt.c)
		said := strings.Contains(strings.Join(v.Notes, "; "), "lost 7 frames")
		if quiet.Limiter != tt.want || v.Limiter != tt.want || said != tt.capped || quiet.Confidence <= busyMachineCap {
			t.Errorf("%s: %s %.2f, without losses of the lab %s %.2f; notes %v", tt.name, v.Limiter, v.Confidence, quiet.Limiter, quiet.Confidence, v.Notes)
		}
		want := quiet.Confidence
		if tt.capped {
			want = busyMachineCap
		}
		if v.Confidence != want || len(v.Causes) > 0 && v.Causes[0].Confidence != want {
			t.Errorf("%s: confidence %.2f and causes %+v, want %.2f", tt.name, v.Confidence, v.Causes, want)
		}
	}
}
