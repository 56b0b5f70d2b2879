package app

import (
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/store"
)

// Every bundle has the version of the program that made it, whatever its results say.
func TestBundlesHaveTheProgramsVersion(t *testing.T) {
	data := t.TempDir()
	e := Env{Build: "v1.2.3 (0123abc)", Now: time.Now, Getenv: func(key string) string {
		return map[string]string{"XDG_DATA_HOME": data}[key]
	}}
	for _, said := range []string{"", "another"} {
		rec := &Record{Results: model.Results{Outcome: model.Outcome{V: model.OutcomeVersion}, Command: "demo", Build: said, Started: time.Now()}}
		if err := Keep(e, rec); err != nil {
			t.Fatal(err)
		}
	}
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	all, err := store.List(root)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, s := range all {
		b, err := store.Open(s.Path)
		if err != nil {
			t.Fatal(err)
		}
		if b.Manifest.Build != e.Build || b.Results.Build != e.Build {
			t.Errorf("the manifest says %q, the results %q", b.Manifest.Build, b.Results.Build)
		}
	}
}
