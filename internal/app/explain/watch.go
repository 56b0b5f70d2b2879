// Package explain is the work of linerate explain: watching a transfer from this host,
// or climbing the ladder between two hosts, until there is a verdict. It changes
// nothing, and puts load on nothing without being told that it may.
package explain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// MaxWatch is the longest watch: the verdict comes within 30 s of the first data.
const MaxWatch = 25 * time.Second

// WatchOptions is what is wanted of this host. One of Path, Peer and PID says what to
// watch.
type WatchOptions struct {
	Path string // a mount, a path on it, or an iSCSI disk
	PID  int    // a process: the connections that it and its descendants hold

	Peer string // a host: the connections to its Port
	Port uint16
	Name string // of both, as the user typed it

	For      time.Duration // once data moves
	Wait     time.Duration // for data to move, at most
	LineRate model.Fact[unit.BitRate]
	Load     bool   // where nothing moves Path may be read
	Write    string // directory of the mount to write a file in instead; empty reads
}

// Watch watches a transfer from this host and judges it.
func Watch(ctx context.Context, e app.Env, o WatchOptions, p app.Progress) (*app.Record, error) {
	switch e.Local.OS() {
	case "windows":
		return watchWindows(ctx, e, o, p)
	case "darwin":
		return watchMacOS(ctx, e, o, p)
	}
	target, err := o.target(ctx, e)
	if err != nil {
		return nil, err
	}
	agent, err := dialWatched(ctx, e, p, target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = agent.Close() }()
	if o.Load {
		p.Say("watching %s for a transfer; where nothing moves %s, and nothing is changed", target, o.ownLoad())
	} else {
		p.Say("watching %s for %s: adding no load, changing nothing", target, o.For)
	}
	w := loop.Watch{
		Agent: agent, Target: target.Target, LineRate: o.LineRate, For: o.For, Wait: o.Wait,
		Now: e.Now, Progress: app.Steps(p),
	}
	switch {
	case o.Write != "":
		w.Write, err = writeBelow(ctx, o.Write, target)
	case o.Load:
		w.Read, err = readOf(o.Path)
	}
	if err != nil {
		return nil, err
	}
	return run(ctx, w)
}

// run watches; that nothing moved is failure.Nothing.
func run(ctx context.Context, w loop.Watch) (*app.Record, error) {
	rec, err := w.Run(ctx)
	var idle *loop.IdleError
	if errors.As(err, &idle) {
		return nil, failure.As(failure.Nothing, err)
	}
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// ownLoad is what this host does where nothing moves.
func (o WatchOptions) ownLoad() string {
	if o.Write != "" {
		return "a file is written below " + o.Write + " and removed"
	}
	return fmt.Sprintf("it is read for %s", o.For)
}
