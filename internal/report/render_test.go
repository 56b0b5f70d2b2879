package report

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// golden compares got with a committed file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs from its golden (run with -update and look at the diff):\n%s", name, got)
	}
}
