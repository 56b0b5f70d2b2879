package size

import (
	"math"
	"testing"
	"time"

	"linerate/internal/unit"
)

func TestInFlight(t *testing.T) {
	if got := PerRoundTrip(1<<20, 10*time.Millisecond); got != 838860800 {
		t.Errorf("1 MiB per 10 ms: %v", got)
	}
	if got := PerRoundTrip(1<<20, 0); got != 0 {
		t.Errorf("without a round trip: %v", got)
	}
	if got := InFlight(10*unit.Gbit, 16*time.Millisecond); got != 20_000_000 {
		t.Errorf("10 Gbit/s at 16 ms: %v", got)
	}
	if got := SlotsInFlight(64, unit.MiB); got != 64*unit.MiB {
		t.Errorf("64 slots: %v", got)
	}
}

func TestReadAhead(t *testing.T) {
	const ahead, rsize = 128 * unit.KiB, 256 * unit.KiB
	for _, tc := range []struct{ read, request, want unit.Bytes }{
		{4 * unit.KiB, rsize, ahead}, {0, rsize, ahead}, {unit.MiB, rsize, rsize}, {192 * unit.KiB, rsize, 192 * unit.KiB},
		{unit.MiB, 0, ahead}, {unit.MiB, 32 * unit.KiB, ahead},
	} {
		if got := AheadWindow(ahead, tc.read, tc.request); got != tc.want {
			t.Errorf("reads of %s, requests up to %s: %s, want %s", tc.read, tc.request, got, tc.want)
		}
		if most := AheadMost(ahead, tc.request); most < AheadWindow(ahead, tc.read, tc.request) || most < 2*ahead {
			t.Errorf("requests up to %s: at most %s is less than there can be", tc.request, most)
		}
	}
	if got := AheadInFlight(ahead); got != 256*unit.KiB {
		t.Errorf("in flight: %s", got)
	}
}

// Before 6.6 the kernel's own arithmetic fixes the share, from then on it does not.
func TestWindowShareIsSure(t *testing.T) {
	for _, tc := range []struct {
		release, scale string
		want           float64
		sure           bool
	}{
		{"5.10.0-30-amd64", "2", 0.75, true}, {"6.5.9", "-1", 0.5, true}, {"5.10.0", "", UsualShare, false},
		{"6.6.0", "1", 0.63, false}, {"", "1", 0.5, false}, {"", "", 0.63, false},
	} {
		got, sure := WindowShare(tc.release, tc.scale, 0)
		if math.Abs(got-tc.want) > 0.005 || sure != tc.sure {
			t.Errorf("%q, scale %q: %.3f, %v", tc.release, tc.scale, got, sure)
		}
	}
}

// A route of "window 65536" was seen to carry 128 KiB per round trip: the bound is no lower.
func TestTheWindowThatARouteAllows(t *testing.T) {
	for limit, want := range map[int]unit.Bytes{1: 65535, 65535: 65535, 65536: 131070, 131071: 131070, 131072: 262140, 1 << 20: 65535 << 5} {
		if got := ScaledWindow(limit); got != want {
			t.Errorf("limit %d: %d, want %d", limit, got, want)
		}
	}
}
