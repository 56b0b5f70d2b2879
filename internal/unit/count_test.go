package unit

import "testing"

func TestCountHasItsNoun(t *testing.T) {
	for _, c := range []struct {
		n          int
		noun, want string
	}{{0, "pair", "0 pairs"}, {1, "entry", "1 entry"}, {3, "entry", "3 entries"}, {2, "delay", "2 delays"}, {2, "TCP connection", "2 TCP connections"}} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q", c.n, c.noun, got)
		}
	}
}
