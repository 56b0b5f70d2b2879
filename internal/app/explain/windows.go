package explain

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/loop"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
)

// watchWindows watches TCP connections of this Windows host, which takes an administrator: their
// statistics are off, and are switched on meanwhile.
func watchWindows(ctx context.Context, e app.Env, o WatchOptions, p app.Progress) (rec *app.Record, err error) {
	target, err := o.onWindows(ctx)
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
			p.Say("the statistics of %d connections are off again, as they were", n)
		}
	}()
	p.Say("watching %s for %s: adding no load; the extended statistics of these connections are switched on meanwhile, and nothing else is changed", target, o.For)
	rec, err = run(ctx, loop.Watch{
		Agent: end, Target: target, LineRate: o.LineRate, For: o.For, Patience: MaxWatch, Now: e.Now, Progress: app.Steps(p),
	})
	if kernel.NeedsAdministrator(err) {
		return nil, fmt.Errorf(`%w; Windows lets only an administrator switch them on: start this in a window that was opened with "Run as administrator"`, err)
	}
	if n := end.stats.Unread(); n > 0 && err == nil {
		p.Say("%d more connections could not be read and are not part of this", n)
	}
	return rec, err
}

// onWindows is whose connections to watch.
func (o WatchOptions) onWindows(ctx context.Context) (loop.Target, error) {
	switch {
	case o.PID != 0:
		return loop.Target{Name: fmt.Sprintf("process %d", o.PID), PID: o.PID, NoTasks: true}, nil
	case o.Peer != "":
		return o.peerTarget(ctx)
	}
	return loop.Target{}, failure.Of(failure.Failed, "explain %s: on Windows linerate does not find out which connections serve a path: name the server, e.g. --attach nas1:445 (ports: SMB 445, iSCSI 3260, NFS 2049)", o.Path)
}

// windowsEnd is this Windows host as a watch sees it.
type windowsEnd struct {
	env   app.Env
	p     app.Progress
	stats *kernel.EstatsWatch
}

// Facts are those of linerate check. Without them the connections are judged all the same.
func (w *windowsEnd) Facts(ctx context.Context) (*model.Facts, error) {
	system, _ := systems.Find("windows")
	answer, err := w.env.Reach(w.p).Ask(ctx, host.Name{Host: reach.Here}, system.Name(), system.Script(), frame.Most)
	var f *model.Facts
	if err == nil {
		f, err = systems.Read(system, answer, reach.Here, w.env.Now())
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		f = &model.Facts{V: model.FactsVersion, OS: system.Name(), Taken: w.env.Now(), CouldNotSee: []model.Blind{{
			What: "adapters and settings of this host", WouldShow: "the line rate, so the ceiling, and settings that disagree with the guide", How: failure.FirstLine(err),
		}}}
	}
	if f.Hostname == "" {
		f.Hostname = reach.Here
	}
	return f, nil
}

// StartSampling reads the connections every interval until stop is called.
func (w *windowsEnd) StartSampling(ctx context.Context, what measure.Watch, interval time.Duration) (func() ([]model.Sample, error), error) {
	ctx, cancel := context.WithCancel(ctx)
	var samples []model.Sample
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			s, err := w.sample(what)
			if err != nil {
				done <- err
				return
			}
			samples = append(samples, s)
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-tick.C:
			}
		}
	}()
	return func() ([]model.Sample, error) {
		cancel()
		err := <-done
		return samples, err
	}, nil
}

func (w *windowsEnd) sample(what measure.Watch) (model.Sample, error) {
	began := w.env.Now()
	s := model.Sample{V: model.SampleVersion, HostAt: began, Throttled: model.Unknown[time.Duration](model.Unsupported, "Windows has no such quota")}
	conns, err := w.stats.Read(kernel.TCPFilter{Addrs: what.Addrs, Ports: what.Ports}, what.OwnedBy)
	s.Conns = conns
	s.Spread = w.env.Now().Sub(began).Truncate(time.Millisecond)
	return s, err
}
