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
