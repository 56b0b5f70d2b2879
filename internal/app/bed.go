package app

import (
	"context"
	"slices"

	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// Bed is what the labs of hosts say of themselves, from a moment on. Outside of a lab it has
// nothing to say.
type Bed struct {
	dial   reach.Dialler
	names  []host.Name
	before []model.Warning
}

// NewBed is the bed of these hosts from now on.
func NewBed(ctx context.Context, d reach.Dialler, names []host.Name) Bed {
	return Bed{d, names, labWarnings(ctx, d, names)}
}

// Warnings are those that came since then.
func (b Bed) Warnings(ctx context.Context) []model.Warning {
	return since(b.before, labWarnings(ctx, b.dial, b.names))
}

// Lost words what the labs lost since then, as loop.Loop asks for it.
func (b Bed) Lost(ctx context.Context) []string { return Whats(b.Warnings(ctx)) }

// Whats are the texts of warnings, each with its evidence.
func Whats(warnings []model.Warning) (out []string) {
	for _, w := range warnings {
		out = append(out, w.What+" ("+w.Evidence+")")
	}
	return out
}

// labWarnings are what the labs of the hosts say of themselves. A lab that no longer answers says
// nothing: its hosts have failed by then.
func labWarnings(ctx context.Context, d reach.Dialler, names []host.Name) (out []model.Warning) {
	asked := map[string]bool{}
	for _, n := range names {
		if n.Reach != host.Lab || asked[n.Lab] {
			continue
		}
		asked[n.Lab] = true
		c, err := d.Lab(n.Lab)
		if err != nil {
			continue
		}
		if s, err := c.Status(ctx); err == nil {
			out = append(out, s.Warnings...)
		}
	}
	return out
}

// since are the warnings of a lab that were not there before a run, or said less: a lab counts
// from when it came up.
func since(before, after []model.Warning) (out []model.Warning) {
	for _, w := range after {
		i := slices.IndexFunc(before, func(b model.Warning) bool { return b.ID == w.ID })
		switch {
		case i < 0:
			w.Evidence += "; none before this run"
		case before[i].What == w.What:
			continue
		default:
			w.Evidence += "; before this run " + before[i].What
		}
		out = append(out, w)
	}
	return out
}
