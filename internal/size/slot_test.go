package size

import (
	"math"
	"testing"
)

func TestSlotRate(t *testing.T) {
	for _, c := range []struct {
		gts   float64
		lanes int
		gbit  float64
	}{{2.5, 1, 2}, {5, 8, 32}, {8, 8, 63.0}, {16, 16, 252.1}, {32, 16, 504.1}, {64, 16, 968}} {
		if got := float64(SlotRate(c.gts, c.lanes)) / 1e9; math.Abs(got-c.gbit) > 0.05 {
			t.Errorf("%g GT/s x%d = %.2f Gbit/s, want %.1f", c.gts, c.lanes, got, c.gbit)
		}
	}
}

// A sixth of the link goes to headers at 128 bytes, a twelfth at 256.
func TestSlotPayload(t *testing.T) {
	for payload, want := range map[int]float64{128: 0.8421, 256: 0.9143, 512: 0.9552, 0: 0.9143} {
		if got := float64(SlotPayload(1e9, payload)) / 1e9; math.Abs(got-want) > 1e-4 {
			t.Errorf("payload %d: %.4f, want %.4f", payload, got, want)
		}
	}
}
