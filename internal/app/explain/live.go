package explain

import (
	"context"

	"linerate/internal/app"
	"linerate/internal/loop"
)

// LiveEnd is this host with what o says to watch, for a view that goes on.
func (o WatchOptions) LiveEnd(ctx context.Context, e app.Env, p app.Progress) (loop.LiveEnd, error) {
	w, err := o.target(ctx, e)
	if err != nil {
		return loop.LiveEnd{}, err
	}
	return loop.LiveEnd{Path: w.Target.Name, Target: w.Target, Dial: func(ctx context.Context) (loop.LiveAgent, error) {
		agent, err := dialWatched(ctx, e, p, w)
		if err != nil {
			return nil, err
		}
		return LiveAgent{agent}, nil
	}}, nil
}
