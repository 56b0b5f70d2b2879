package app

import (
	"testing"

	"linerate/internal/model"
)

// A lab counts what its links lost since it came up: only what came with a run is said of it.
func TestWarningsOfALabSinceARun(t *testing.T) {
	lost := func(n string) model.Warning {
		return model.Warning{ID: "lab-link-dropped", What: "lost " + n, Evidence: "ring"}
	}
	for _, tc := range []struct {
		name          string
		before, after []model.Warning
		want          string // the evidence; empty: nothing is said
	}{
		{"none", nil, nil, ""},
		{"none came", []model.Warning{lost("3")}, []model.Warning{lost("3")}, ""},
		{"the first", nil, []model.Warning{lost("3")}, "ring; none before this run"},
		{"more", []model.Warning{lost("3")}, []model.Warning{lost("5")}, "ring; before this run lost 3"},
		{"the lab is gone", []model.Warning{lost("3")}, nil, ""},
	} {
		got := since(tc.before, tc.after)
		if len(got) != len(tc.want)/max(1, len(tc.want)) || len(got) == 1 && got[0].Evidence != tc.want {
			t.Errorf("%s: %+v, want %q", tc.name, got, tc.want)
		}
	}
}
