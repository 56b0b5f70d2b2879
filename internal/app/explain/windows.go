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

// watchWindows watches TCP connections of this Windows host. Windows collects their statistics only
// while they are switched on, which takes an administrator.
func watchWindows(ctx context.Context, e app.Env, o WatchOptions, p app.Progress) (rec *app.Record, err error) {
	target, err := o.elsewhere(ctx, "Windows")
	if err != nil {
		return nil, err
	}
	if o.PID != 0 {
		target.Elsewhere = "what Windows' own clients of SMB, NFS and iSCSI move is the system's, and not of the process that uses them: name the server, e.g. --attach nas1:445"
	}
	calls, err := e.Local.TCPStatistics()
	if err != nil {
		return nil, err
	}
	records, err := e.TCPRecords()
	if err != nil {
		return nil, err
	}
	notes, err := records.PutBack(e.Local.TCPStatistics)
	for _, note := range notes {
		p.Say("%s", note)
	}
	if err != nil { // an earlier watch's statistics stay on; this one works all the same
		p.Say("%s", err)
	}
	end := &windowsEnd{env: e, p: p, stats: kernel.NewEstatsWatch(calls, records)}
	defer func() {
		n := end.stats.Changed()
		switch failed := end.stats.Close(); {
		case failed != nil:
			p.Say("%s", failed)
		case n > 0:
			p.Say("the statistics of %s are off again, as they were", unit.Count(n, "connection"))
		}
	}()
	p.Say("watching %s for %s: adding no load; the extended statistics of these connections are switched on meanwhile (should this be killed, the next explain --attach or linerate tune undo switches them off), and nothing else is changed", target, o.For)
	rec, err = run(ctx, loop.Watch{
		Agent: end, Target: target, LineRate: o.LineRate, For: o.For, Wait: o.Wait, Now: e.Now, Progress: app.Steps(p),
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
		of, err := w.family(what.OwnedBy)
		if err != nil {
			return nil, err
		}
		return w.stats.Read(kernel.TCPFilter{Addrs: what.Addrs, Ports: what.Ports}, of)
	}), nil
}

// family returns these processes and their descendants.
func (w *windowsEnd) family(pids []int) (all []int, err error) {
	for _, pid := range pids {
		of, err := w.env.Local.ProcessFamily(pid)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}
