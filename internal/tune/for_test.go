package tune

import (
	"strings"
	"testing"
)

// The journal has for whom a plan is, as text of one line, beside who brought it.
func TestTheJournalSaysForWhom(t *testing.T) {
	for said, want := range map[string]string{"": "agent", "me at ctl": "agent, for me at ctl", "a\n\x1b[31m\u202eb": "agent, for a[31mb",
		strings.Repeat("ä", 300): "agent, for " + strings.Repeat("ä", mostBy) + "…"} {
		if got := forWhom("agent", said); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
	tn := tuner(t, newKernel("fake.a"))
	p := plan("fake.a")
	p.By = "me at ctl"
	if res := mustApply(t, tn, p); res.Entries[0].By != "test, for me at ctl" {
		t.Errorf("%+v", res.Entries)
	}
}
