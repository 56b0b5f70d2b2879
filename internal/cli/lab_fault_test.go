package cli

import (
	"strings"
	"testing"
)

func TestFaultCatalogueTable(t *testing.T) {
	_, out, _ := typed(t, "lab", "fault", "catalogue")
	for _, want := range []string{"FAULT", "loss-random", "mild 0.01%, medium", "0.1%, severe 1%", "nfs-few-threads"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
