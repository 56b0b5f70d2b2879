package lab

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/app"
	"linerate/internal/failure"
)

// TestFaultCatalogueContract: the fields that others rely on.
func TestFaultCatalogueContract(t *testing.T) {
	b, err := json.Marshal(Catalogue())
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
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
		for _, field := range []string{"severities", "confusable"} {
			if _, ok := f[field].([]any); !ok {
				t.Errorf("%v: %s is no list", f["id"], field)
			}
		}
	}
}

func TestCommandLine(t *testing.T) {
	for want, argv := range map[string][]string{
		"nfs-cat nfs://10.0.0.2/export/file":   {"nfs-cat", "nfs://10.0.0.2/export/file"},
		"smbclient '//nas1/my share' -c '' ''": {"smbclient", "//nas1/my share", "-c", "", ""},
		`echo 'it'\''s'`:                       {"echo", "it's"},
	} {
		if got := CommandLine(argv); got != want {
			t.Errorf("%q: %s, want %s", argv, got, want)
		}
	}
}

// A lab that cannot be had as it was asked for is refused before anything is made.
func TestRefusals(t *testing.T) {
	if _, err := ReadTopology("./none.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := ReadTopology("none"); err == nil || errors.Is(err, fs.ErrNotExist) || failure.KindOf(err) != failure.Usage {
		t.Errorf("a topology that is not there: %v", err)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte("name: mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTopology(file); failure.KindOf(err) != failure.Usage {
		t.Errorf("half a topology: %v", err)
	}
	f, err := ReadTopology("back-to-back")
	if err != nil {
		t.Fatal(err)
	}
	for what, o := range map[string]UpOptions{
		"letters, digits": {Name: "my/lab"},
		"at most 40":      {Name: strings.Repeat("x", 41)},
		"nobody":          {Kernels: []string{"nobody"}},
		"nosuch":          {Serve: map[string][]string{"server1": {"nosuch"}}},
	} {
		_, err := BringUp(t.Context(), app.Env{}, nil, f, o)
		if failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
