package cli

import (
	"testing"

	"linerate/internal/app/tune"
)

// What an undo did not write is not told as written.
func TestEntryLine(t *testing.T) {
	for want, e := range map[string]tune.Entry{
		"newer → new again": {After: "newer"},
		"theirs → new again (somebody else had changed it; ours was newer)": {After: "newer", Found: "theirs"},
		"is new already, so nothing was written":                            {After: "newer", Found: "new"},
		"is old already, so nothing was written":                            {After: "newer", Found: "old", Unwritten: true},
		"is older already, so nothing was written":                          {After: "older", Unwritten: true},
	} {
		e.Setting, e.Before, e.Wanted, e.State = "linux.sysctl.net.core.rmem_max", "new", e.After, tune.Undone
		if got := entryLine(e); got != tune.ShortName(e.Setting, "")+": "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
