package explain

import (
	"context"
	"slices"
	"time"

	"linerate/internal/app"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/loop"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/systems/frame"
	"linerate/internal/systems/macos"
)

// watchMacOS watches TCP connections of this Mac by what nettop shows of them, which is little: what
// moved, what was sent again, and the round trip.
func watchMacOS(ctx context.Context, e app.Env, o WatchOptions, p app.Progress) (*app.Record, error) {
	target, err := o.elsewhere(ctx, "macOS")
	if err != nil {
		return nil, err
	}
	p.Say("watching %s for %s: adding no load, changing nothing; macOS shows little of a connection", target, o.For)
	return run(ctx, loop.Watch{
		Agent: macosEnd{e, p}, Target: target, LineRate: o.LineRate, For: o.For, Wait: o.Wait, Now: e.Now, Progress: app.Steps(p),
	})
}

// macosEnd is this Mac as a watch sees it.
type macosEnd struct {
	env app.Env
	p   app.Progress
}

// Facts implements loop.Watcher.
func (m macosEnd) Facts(ctx context.Context) (*model.Facts, error) {
	return factsHere(ctx, m.env, m.p, "macos")
}

// nettopInterval is the least time between two starts of nettop, which takes a while by itself.
const nettopInterval = 500 * time.Millisecond

// StartSampling implements loop.Watcher.
func (m macosEnd) StartSampling(ctx context.Context, what measure.Watch, interval time.Duration) (func() ([]model.Sample, error), error) {
	filter := kernel.TCPFilter{Addrs: what.Addrs, Ports: what.Ports}
	return repeat(ctx, m.env.Now, max(interval, nettopInterval), func(ctx context.Context) ([]model.Conn, error) {
		answer, err := m.env.Reach(m.p).Ask(ctx, host.Name{Host: reach.Here}, "macos", macos.NettopScript(), frame.Most)
		if err != nil {
			return nil, err
		}
		all, err := macos.Connections(answer)
		var out []model.Conn
		for _, c := range all {
			if filter.Match(c.Local, c.Remote) && (len(what.OwnedBy) == 0 || slices.Contains(what.OwnedBy, c.PID)) {
				out = append(out, c.Conn)
			}
		}
		return out, err
	}), nil
}
