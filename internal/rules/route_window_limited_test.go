package rules

import (
	"testing"

	"linerate/internal/unit"
)

// A route of "window 65536" was seen to carry 128 KiB per round trip: the bound is no lower.
func TestTheWindowThatARouteAllows(t *testing.T) {
	for limit, want := range map[int]unit.Bytes{1: 65535, 65535: 65535, 65536: 131070, 131071: 131070, 131072: 262140, 1 << 20: 65535 << 5} {
		if got := scaledWindow(limit); got != want {
			t.Errorf("limit %d: %d, want %d", limit, got, want)
		}
	}
}
