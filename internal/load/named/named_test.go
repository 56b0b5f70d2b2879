package named

import (
	"testing"

	"linerate/internal/unit"
)

func TestEveryWorkloadCanBeRun(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		w.Shape.Area = unit.GiB
		if err := w.Shape.Check(); err != nil {
			t.Errorf("%s: %v", w.Name, err)
		}
		if seen[w.Name] || w.About == "" || w.Source == "" || w.Threads < 1 || w.Depth < 1 {
			t.Errorf("%+v", w)
		}
		seen[w.Name] = true
		if got, ok := Find(w.Name); !ok || got.About != w.About {
			t.Errorf("%s is not found", w.Name)
		}
	}
	if _, ok := Find("none"); ok {
		t.Error("found a workload of no name")
	}
}
