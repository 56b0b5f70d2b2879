package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// New connections are shared out anew: what lasts is met again, what was there once is not.
func TestPortsProbe(t *testing.T) {
	k := knobs{rate: 0.75e9, rtt: 15 * time.Millisecond, streams: 8}
	first := someLose(k, 2, 0.1, 0.01)
	before := Judge(first)
	plan, ok := PlanPorts(first, before)
	if !ok || plan.Streams != 8 || plan.before != 2 {
		t.Fatalf("plan %+v %v for %s", plan, ok, before.Line)
	}
	for _, tt := range []struct {
		name     string
		c        Case
		evidence bool
		lower    bool
		note     string
	}{
		{"three of the new ones are poor", someLose(k, 3, 0.1, 0.01), true, false, ""},
		{"all of them are", someLose(k, 8, 0.3, 0.01), false, false, "all fare alike"},
		{"none is", k.build(), false, false, "by chance"},
		{"nothing was seen", Case{}, false, false, "was not seen"},
	} {
		v := first.with(plan.Seen(tt.c))
		met := poorAgain(v)
		if met != tt.evidence || v.Limiter != before.Limiter || (v.Confidence < before.Confidence) != tt.lower {
			t.Errorf("%s: %s %.2f (was %.2f), met again %v", tt.name, v.Limiter, v.Confidence, before.Confidence, met)
		}
		if notes := strings.Join(v.Notes, "; "); !strings.Contains(notes, tt.note) {
			t.Errorf("%s: notes %q, want %q in them", tt.name, notes, tt.note)
		}
	}
	// Half of eight were poor and none of eight new ones is: by chance once in 256 times.
	half := someLose(k, 4, 0.1, 0.01)
	was := Judge(half)
	plan, ok = PlanPorts(half, was)
	v := half.with(plan.Seen(k.build()))
	if !ok || v.Confidence > refutedCap || was.Confidence <= refutedCap || !strings.Contains(strings.Join(v.Notes, " "), "was there once") {
		t.Errorf("half: %.2f, was %.2f, notes %q", v.Confidence, was.Confidence, v.Notes)
	}
	if _, ok := PlanPorts(k.build(), Judge(k.build())); ok {
		t.Error("a probe is planned where all connections fare alike")
	}
}

func (c Case) with(t Trial) model.Verdict {
	c.Trials = append(c.Trials, t)
	return Judge(c)
}

func poorAgain(v model.Verdict) bool {
	for _, e := range v.Evidence {
		if e.Metric == "poor_connections_again" {
			return true
		}
	}
	return false
}
