package store

import (
	"encoding/json"
	"errors"
	"testing"

	"linerate/internal/model"
)

// The facts of a bundle from a stranger are of a known version, or damaged.
func FuzzFacts(f *testing.F) {
	b, err := json.Marshal(model.Facts{V: model.FactsVersion, OS: "linux"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"v":1,"kernel":{"state":"denied","why":"x"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode[model.Facts]("facts/a.json", b, model.FactsVersion)
		if err == nil && (v.V < 1 || v.V > model.FactsVersion) {
			t.Errorf("version %d is accepted", v.V)
		}
		if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Errorf("%q: %v", b, err)
		}
	})
}
