package frames

import (
	"strings"
	"testing"
)

// A rate is one that can be played, or refused.
func FuzzParseRate(f *testing.F) {
	for _, s := range []string{"25", "23.976", "30000/1001", "0", "-1", "1/0", "NaN", "1e400"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRate(s)
		if err != nil {
			return
		}
		again, err := ParseRate(strings.TrimSpace(r.String()))
		if err != nil || again != r {
			t.Errorf("%q is %v, which reads as %v (%v)", s, r, again, err)
		}
	})
}
