// Package fix is the work of linerate fix: it climbs from one limiter of a path to the
// next, changes what limits, and keeps a change that earned its place. It changes
// nothing without leave, and nothing that trades safety for speed.
package fix

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
)

// Options says how to fix a path.
type Options struct {
	app.Stream
	Seed   uint64        // decides the order of the runs; 0 draws one
	Budget time.Duration // a proof that would not end within it is not begun
	// Ask is asked before each change; nil allows all.
	Ask func(model.Fix) (bool, error)
}

// NotMountedError: the first host of a pair has not mounted the second's export.
type NotMountedError struct{ Client, Export string }

// Error implements error.
func (e *NotMountedError) Error() string {
	return fmt.Sprintf("%s has not mounted %s", e.Client, e.Export)
}

// KeptError reports that a fix ended early, and that the changes which had proved their gain
// by then stay in force.
type KeptError struct {
	Hosts []string // on which changes stay
	Err   error
}

// Error implements error.
func (e *KeptError) Error() string {
	return fmt.Sprintf("%v; what had earned its place before is kept on %s", e.Err, strings.Join(e.Hosts, " and "))
}

// Unwrap gives the cause.
func (e *KeptError) Unwrap() error { return e.Err }

// Run fixes the path between two hosts, or the reading of an export. It returns either a
// record or an error.
func Run(ctx context.Context, e app.Env, h app.Pair, o Options, p app.Progress) (*app.Record, error) {
	var err error
	if o.Seed == 0 {
		if o.Seed, err = app.Seed(); err != nil {
			return nil, err
		}
	}
	defer h.Close()
	if err := h.Dial(ctx, e.Reach(p)); err != nil {
		return nil, err
	}
	rec, err := climb(ctx, e, &h, o, p)
	if err == nil || rec == nil {
		return rec, err
	}
	if !rec.Results.Restored {
		err = failure.As(failure.NotRestored, err)
	}
	kept := KeptOn(rec.Results.Steps)
	if len(kept) == 0 {
		return nil, err
	}
	kind := failure.KindOf(err)
	if kind == failure.Failed && ctx.Err() != nil {
		kind = failure.Interrupted
	}
	return nil, failure.As(kind, &KeptError{kept, err})
}

func climb(ctx context.Context, e app.Env, h *app.Pair, o Options, p app.Progress) (*app.Record, error) {
	export, err := h.Export(ctx, o.Stream)
	if err != nil {
		return nil, err
	}
	if export != nil && export.Mount.Point == "" {
		return nil, failure.As(failure.Usage, &NotMountedError{h.As[0], h.As[1]})
	}
	way, err := h.Way(ctx, e.Reach(p), o.Stream, export)
	if err != nil {
		return nil, err
	}
	p.Say("data path: %s", way)
	bed := app.NewBed(ctx, e.Reach(p), h.Names)
	f := loop.Fix{
		Loop: loop.Loop{
			Lost:   bed.Lost,
			Sender: way.Sender, Receiver: way.Receiver,
			Workload: model.Workload{Streams: o.Streams, CC: o.CC}, LineRate: way.LineRate, Timing: loop.DefaultTiming(),
			Seed: o.Seed, Now: e.Now, Progress: app.Steps(p),
			Report: func(v model.Verdict) { p.Say("verdict: %s", v.Line) },
		},
		Budget: o.Budget, Export: export,
	}
	if o.Ask != nil {
		f.Ask = func(v model.Verdict) (bool, error) { return o.Ask(v.Fix) }
	}
	rec, err := f.Run(ctx)
	if rec != nil {
		rec.Results.Warnings = append(rec.Results.Warnings, bed.Warnings(ctx)...)
	}
	return rec, err
}

// KeptOn lists the hosts on which something was kept.
func KeptOn(steps []model.FixStep) []string {
	var hosts []string
	for _, s := range steps {
		if s.Kept && !slices.Contains(hosts, s.Host) {
			hosts = append(hosts, s.Host)
		}
	}
	return hosts
}

var _ loop.Keeper = (*host.Client)(nil)
