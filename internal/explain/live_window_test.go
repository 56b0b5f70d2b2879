package explain

import (
	"slices"
	"testing"
	"time"

	"linerate/internal/model"
)

// during is the part of a recording that a view has of the seconds between two instants.
func during(e *End, from, to time.Duration) *End {
	if e == nil {
		return nil
	}
	part := *e
	part.Samples = slices.DeleteFunc(slices.Clone(e.Samples), func(s model.Sample) bool { return s.At < from || s.At > to })
	return &part
}

// A live view judges a few seconds, and cannot send a paced probe: there a small queue, a
// policer and late segments are not called losses of the path with confidence, whichever
// seconds are seen. Losses of the path are named all the same.
func TestLossesInAShortView(t *testing.T) {
	for name, lossy := range map[string]bool{
		"loss0.01.cubic": true, "loss0.1.cubic": true, "loss1.cubic": true,
		"smallq50.cubic": false, "policer800.cubic": false, "burst20.cubic": false, "burst300.cubic": false,
		"smallq50.bbr": false, "policer800.bbr": false, "reord1_2ms.cubic": false, "reord0.1_8ms.cubic": false,
		"cases/late-100ms": false, "cases/reordering-15ms": false,
	} {
		c := readRecording(t, name)
		for from := time.Duration(0); from <= 3*time.Second; from += time.Second {
			part := c
			part.Sender, part.Receiver = during(c.Sender, from, from+5*time.Second), during(c.Receiver, from, from+5*time.Second)
			v := Judge(part)
			if lossy && v.Limiter != model.PathLoss || !lossy && v.Limiter == model.PathLoss && v.Confidence >= 0.5 {
				t.Errorf("%s from %v on: %s (%.2f): %s", name, from, v.Limiter, v.Confidence, v.Line)
			}
		}
	}
}
