package explain

import (
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// A path that carries more than the stated line rate allows is not "at its ceiling": the ceiling
// is not known, and the verdict says why. What a connection shows by itself stays.
func TestMoreThanTheCeilingPassed(t *testing.T) {
	healthy := readRecording(t, "healthy.cubic")
	ceiling := Judge(healthy).Ceiling
	if ceiling == nil {
		t.Fatal("the recording has no ceiling")
	}
	for _, tt := range []struct {
		name  string
		share float64 // of the true line rate that is stated
		known bool
	}{{"as it is", 1, true}, {"a little low", 0.97, true}, {"half", 0.5, false}, {"a tenth", 0.1, false}} {
		c := healthy
		c.LineRate = model.Known(unit.BitRate(tt.share * float64(healthy.LineRate.Value)))
		v := Judge(c)
		checkVerdict(t, c, v)
		said := strings.Contains(strings.Join(v.Notes, "; "), "the line is faster")
		if known := v.Ceiling != nil && v.ShareOfCeiling != nil; known != tt.known || said == tt.known || known != (v.Limiter == model.None) {
			t.Errorf("%s: ceiling %v, %s %.2f, %q: %s", tt.name, v.Ceiling, v.Limiter, v.Confidence, v.Notes, v.Line)
		}
		if !tt.known && (v.Confidence > fullCap || strings.Contains(v.Line, "at its ceiling")) {
			t.Errorf("%s: %.2f %s", tt.name, v.Confidence, v.Line)
		}
	}
	c := faults()["window"].build()
	c.LineRate = model.Known(unit.Mbit)
	if v := Judge(c); v.Limiter != model.ReceiverWindow || v.Ceiling != nil {
		t.Errorf("a full window on a line that is faster than stated: %s", v.Line)
	}
}
