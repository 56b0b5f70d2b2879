package explain

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/kernel"
	"linerate/internal/loop"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// watchWindows watches TCP connections of this Windows host, which takes an administrator: their
// statistics are off, and are switched on meanwhile.
func watchWindows(ctx context.Context, e app.Env, o WatchOptions, p app.Progress) (rec *app.Record, err error) {
	target, err := o.elsewhere(ctx, "Windows")
	if err != nil {
		return nil, err
	}
	calls, err := e.Local.TCPStatistics()
	if err != nil {
		return nil, err
	}
	end := &windowsEnd{env: e, p: p, stats: kernel.NewEstatsWatch(calls)}
	defer func() {
		n := end.stats.Changed()
		switch failed := end.stats.Close(); {
		case failed != nil:
			p.Say("%s", failed)
		case n > 0:
			p.Say("the statistics of %s are off again, as they were", unit.Count(n, "connection"))
		}
	}()
	p.Say("watching %s for %s: adding no load; the extended statistics of these connections are switched on meanwhile (should this be killed, they end with their connections), and nothing else is changed", target, o.For)
	rec, err = run(ctx, loop.Watch{
		Agent: end, Target: target, LineRate: o.LineRate, For: o.For, Patience: MaxWatch, Now: e.Now, Progress: app.Steps(p),
	})
	if kernel.NeedsAdministrator(err) {
		return nil, fmt.Errorf(`%w; Windows lets only an administrator switch them on: start this in a window that was opened with "Run as administrator"`, err)
	}
	if n := end.stats.Unread(); n > 0 && err == nil {
		p.Say("not part of this, since it could not be read: %s", unit.Count(n, "connection"))
	}
	return rec, err
}

// windowsEnd is this Windows host as a watch sees it.
type windowsEnd struct {
	env   app.Env
	p     app.Progress
	stats *kernel.EstatsWatch
}

// Facts implements loop.Watcher.
func (w *windowsEnd) Facts(ctx context.Context) (*model.Facts, error) {
	return factsHere(ctx, w.env, w.p, "windows")
}

// StartSampling implements loop.Watcher.
func (w *windowsEnd) StartSampling(ctx context.Context, what measure.Watch, interval time.Duration) (func() ([]model.Sample, error), error) {
	return repeat(ctx, w.env.Now, interval, func(context.Context) ([]model.Conn, error) {
		return w.stats.Read(kernel.TCPFilter{Addrs: what.Addrs, Ports: what.Ports}, what.OwnedBy)
	}), nil
}
