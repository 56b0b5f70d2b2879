package lab

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

func TestMeasure(t *testing.T) {
	ctx := context.Background()
	for _, f := range Faults() {
		l, err := Up(ctx, f.Topology(DefaultTopology()), selfOptions(filepath.Join(t.TempDir(), "state")))
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"healthy", "injected", "cured"} {
			if what == "injected" {
				err = l.Inject(ctx, f)
			}
			if what == "cured" {
				err = l.Cure(ctx, f)
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := transfer(ctx, l, 3*time.Second, time.Second)
			st, _, serr := l.LinkStats(ctx)
			t.Logf("%s %s: %s %v  %+v %v", f.ID, what, r, err, st, serr)
		}
		t.Log(l.LeftOut())
		if err := l.Down(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
