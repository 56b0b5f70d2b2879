package watch

import (
	"context"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// ReplayOptions is what is wanted of a recorded run.
type ReplayOptions struct {
	Ref      string // an id, the beginning of one, "last", or the path of a bundle
	LineRate model.Fact[unit.BitRate]
	Window   time.Duration
	Speed    float64 // times as fast as it was; 0 waits for nothing
	Show     func([]Picture) error
}

// Replay shows the runs of a bundle one after the other, each from its beginning.
func Replay(ctx context.Context, e app.Env, o ReplayOptions) error {
	if strings.HasPrefix(o.Ref, runs.HistoryPrefix) {
		return o.history(ctx, e)
	}
	b, err := runs.Open(e, o.Ref)
	if err != nil {
		return err
	}
	all, err := b.Samples()
	if err != nil {
		return err
	}
	shown := false
	for _, r := range b.Results.Runs {
		r.Samples = all[r.Label]
		if len(r.Samples) == 0 {
			continue
		}
		l := loop.Live{LineRate: o.LineRate, Window: o.Window, Step: loop.LiveStep, Hold: loop.LiveHold, Show: o.Show}
		if err := l.Replay(ctx, loop.Played{Run: r, Facts: b.Facts, Ceiling: b.Results.Verdict.Ceiling, Wait: o.wait}); err != nil {
			return err
		}
		shown = true
	}
	if !shown {
		return failure.Of(failure.Nothing, "play %s: no samples were kept with it", b.ID())
	}
	return nil
}

// history shows the records of a stretch of history, a picture for each.
func (o ReplayOptions) history(ctx context.Context, e app.Env) error {
	s, err := runs.OpenHistory(e, o.Ref)
	if err != nil {
		return err
	}
	var before watch.Named
	since := s.From
	for _, r := range s.Records {
		p, ok := r.Picture(s.Path)
		if !ok {
			continue
		}
		if p.Shown != before {
			p.Events = []Event{{At: r.At, Path: p.Path, From: before, To: p.Shown, Line: p.Why}}
			before, since = p.Shown, r.At
		}
		p.Since = since
		if err := o.Show([]Picture{p}); err != nil {
			return err
		}
		if err := o.wait(ctx, r.Span); err != nil {
			return err
		}
	}
	return nil
}

func (o ReplayOptions) wait(ctx context.Context, step time.Duration) error {
	if o.Speed <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(time.Duration(float64(step) / o.Speed))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
