package compare

import (
	"strings"
	"testing"

	"linerate/internal/report/docstest"
)

func TestEveryFieldIsDocumented(t *testing.T) {
	section := docstest.Section(t, "compare")
	docstest.Fields(t, section, "linerate/", 30, Comparison{})
	for _, c := range []string{Differ, MayDiffer, Equal, NotTold, NoInterval, NotSame, OneSide, NoSide} {
		if !strings.Contains(section, "`"+c+"`") {
			t.Errorf("docs/json.md does not have the conclusion %q", c)
		}
	}
}
