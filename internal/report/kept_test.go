package report

import (
	"bytes"
	"strings"
	"testing"

	"linerate/internal/model"
)

// A fix leaves changed what it kept: no place of its report may say that all is as it
// was found, and the way back is named.
func TestKeptIsNotCalledUndone(t *testing.T) {
	r := fixRun()
	r.Changes = []model.Change{*r.Steps[0].Change}
	var terminal, md bytes.Buffer
	if err := Text(&terminal, r, false, 80); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&md, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"text": terminal.String(), "markdown": md.String()} {
		flat := strings.Join(strings.Fields(page), " ")
		for _, lie := range []string{"as it was found", "all were undone.", "all were undone\n", "Nothing was changed."} {
			if strings.Contains(flat, lie) {
				t.Errorf("%s says %q although a change is in force", name, lie)
			}
		}
		if !strings.Contains(flat, "linerate tune undo server1") {
			t.Errorf("%s does not say how the change is undone:\n%s", name, page)
		}
	}
	r.Steps[0].Kept = false
	if got := fixState(r); strings.Contains(got, "Kept") {
		t.Errorf("nothing is kept, and it says %q", got)
	}
}
