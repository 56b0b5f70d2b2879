// Package golden compares what a test made with what is kept of it in the tree. It refuses to say
// whether a difference is right: with -update it writes the file, and who asked for that looks at it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what is kept in the tree anew")

// Update tells whether a test is to write what it would compare.
func Update() bool { return *update }

// Same compares got with a file, which it first writes if that was asked for.
func Same[T ~string | ~[]byte](t testing.TB, file string, got T) {
	t.Helper()
	if *update {
		Write(t, file, got)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-update writes it anew), -want +got:\n%s", file, d)
	}
}

// Write writes a file that is kept in the tree.
func Write[T ~string | ~[]byte](t testing.TB, file string, got T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}
