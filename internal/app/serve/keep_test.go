package serve

import (
	"context"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/model"
	"linerate/internal/store/history"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// What paths would have been shown as while they were stale is in the history in place of that.
func TestLatePicturesAreKept(t *testing.T) {
	data := t.TempDir()
	k, err := newKeeper(app.Env{Now: func() time.Time { return clockZero }, Getenv: func(name string) string {
		return map[string]string{"XDG_DATA_HOME": data}[name]
	}}, "late", unit.GiB)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- k.run(ctx) }()
	moving := watch.Named{State: watch.Moving, Limiter: model.PathLoss}
	picture := func(at time.Time, path string, n watch.Named, goodput unit.BitRate) watch.Picture {
		return watch.Picture{At: at, Path: path, Shown: n, Goodput: goodput, Hosts: []watch.Host{{Name: path, Stale: n.State == watch.Stale}}}
	}
	paths := []string{"a – b", "c – d"}
	for n := range 61 {
		at, shown := clockZero.Add(time.Duration(n)*time.Second), moving
		if n > 15 && n <= 45 {
			shown = watch.Named{State: watch.Stale}
		}
		var all []watch.Picture
		for _, p := range paths {
			all = append(all, picture(at, p, shown, 80*unit.Mbit))
		}
		k.show(all)
	}
	for _, p := range paths {
		var run []watch.Picture
		for n := 15; n <= 45; n++ {
			run = append(run, picture(clockZero.Add(time.Duration(n)*time.Second), p, moving, 80*unit.Mbit))
		}
		k.late(run)
	}
	k.last()
	cancel()
	if err := <-kept; err != nil {
		t.Fatal(err)
	}
	if k.lost > 0 || k.failed != "" {
		t.Errorf("%d records were not kept: %s", k.lost, k.failed)
	}
	r, err := k.Between(clockZero, clockZero.Add(time.Hour), history.Finest)
	if err != nil || len(r.Problems) > 0 || len(r.Records) != 6 {
		t.Fatalf("%d records, %v, %v", len(r.Records), r.Problems, err)
	}
	for _, x := range r.Records {
		for _, p := range x.Paths {
			if len(p.Parts) != 1 || p.Parts[0].Named != moving || p.Parts[0].For != history.Finest || p.Parts[0].Bytes != 1e8 {
				t.Errorf("%s of %s: %+v", p.Name, x.At, p.Parts)
			}
		}
		for _, h := range x.Hosts {
			if h.Seen != history.Finest {
				t.Errorf("%s was seen for %s at %s", h.Name, h.Seen, x.At)
			}
		}
		if len(x.Paths) != 2 || len(x.Hosts) != 2 {
			t.Errorf("%d paths and %d hosts at %s", len(x.Paths), len(x.Hosts), x.At)
		}
	}
}
