package cli

import (
	"slices"
	"strings"
	"testing"

	"linerate/internal/app/load"
)

// "no" is said only where each thread was seen.
func TestGeneratorLimitedSaysWhatWasNotSeen(t *testing.T) {
	part := 0.4
	seen, process, nothing := load.End{Name: "a", Busiest: &part}, load.End{Name: "a", Process: &part}, load.End{Name: "a"}
	for _, tc := range []struct {
		name     string
		ends     [2]load.End
		limited  bool
		want     string
		complete bool
	}{
		{"both ends seen", [2]load.End{seen, seen}, false, "no", true},
		{"threads together", [2]load.End{seen, process}, false, "whether one waited for a core was not seen", false},
		{"one end not seen", [2]load.End{process, nothing}, false, "not known", false},
		{"limited", [2]load.End{seen, nothing}, true, "perhaps", false},
	} {
		r := &load.TCPResult{}
		r.Directions = slices.Grow(r.Directions, 1)[:1]
		r.Directions[0].Sender, r.Directions[0].Receiver = tc.ends[0], tc.ends[1]
		r.Load.GeneratorLimited = tc.limited
		if got := generatorLimited(r); !strings.Contains(got, tc.want) || (got == "no") != tc.complete {
			t.Errorf("%s: %q", tc.name, got)
		}
	}
}
