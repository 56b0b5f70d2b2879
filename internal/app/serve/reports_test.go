package serve

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"linerate/internal/app"
)

// The samples of a run that was kept come from its bundle, and from nothing else that lies on the disk.
func TestSamplesOfKeptRuns(t *testing.T) {
	const id = "20261120-234501-demo-x7k2"
	data := t.TempDir()
	dir := filepath.Join(data, "linerate", "runs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, id), os.DirFS(filepath.Join("../../store/testdata/v1", id))); err != nil {
		t.Fatal(err)
	}
	k := &kept{env: app.Env{Now: time.Now, Getenv: func(string) string { return data }}}
	s, ok, err := k.Samples(id)
	if err != nil || !ok {
		t.Fatalf("%v %v", ok, err)
	}
	b, _, err := k.open(id)
	if err != nil || (s.Ceiling == nil) != (b.Results.Verdict.Ceiling == nil) {
		t.Errorf("the ceiling is not the bundle's: %v", err)
	}
	for _, other := range []string{"last", "", "../runs/" + id, filepath.Join(dir, id), id[:10]} {
		if _, ok, err := k.Samples(other); ok || err != nil {
			t.Errorf("%q is opened: %v", other, err)
		}
	}
}
