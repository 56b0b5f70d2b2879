package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// catalogue runs `lab fault catalogue` and returns what it printed.
func catalogue(t *testing.T, asJSON bool) []byte {
	t.Helper()
	var out bytes.Buffer
	cmd := labFaultCommand(&environment{out: &out, json: asJSON})
	cmd.SetArgs([]string{"catalogue"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFaultCatalogueContract: the fields that others rely on.
func TestFaultCatalogueContract(t *testing.T) {
	var got []map[string]any
	if err := json.Unmarshal(catalogue(t, true), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) < 30 {
		t.Errorf("%d faults", len(got))
	}
	for _, f := range got {
		for _, field := range []string{"id", "applies_to", "limiter", "fix_kind"} {
			if s, ok := f[field].(string); !ok || s == "" {
				t.Errorf("%v: no %s", f["id"], field)
			}
		}
		if s, ok := f["severities"].([]any); !ok || len(s) == 0 {
			t.Errorf("%v: no severities", f["id"])
		}
	}
}

func TestFaultCatalogueTable(t *testing.T) {
	out := string(catalogue(t, false))
	for _, want := range []string{"FAULT", "loss-random", "mild 0.01%, medium 0.1%, severe 1%", "nfs-few-threads"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
