package kernel

import (
	"testing"
	"time"
)

func TestParseUptime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"350735.47 234388.90\n": 350735470 * time.Millisecond, "0.00 0.00": 0, "": 0, "-1 2": 0, "NaN 1": 0, "1e300 1": 0, "up 3": 0,
	} {
		if got := parseUptime(text); got.Round(time.Millisecond) != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzParseUptime(f *testing.F) {
	f.Add("350735.47 234388.90\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := parseUptime(text); got < 0 || got > 1e9*time.Second {
			t.Errorf("%q: %v", text, got)
		}
	})
}
