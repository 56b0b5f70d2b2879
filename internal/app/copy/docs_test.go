package copy

import (
	"testing"

	"linerate/internal/report/docstest"
)

func TestEveryFieldIsDocumented(t *testing.T) {
	docstest.Fields(t, docstest.Section(t, "copy"), "linerate/", 30, Result{})
}
