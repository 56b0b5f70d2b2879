// Package watch is the work of linerate watch: what paths carry and what holds them back, live
// from this host or several, or played again from a recorded run. It puts no load on anything and
// changes nothing.
package watch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// What the surface needs of a view.
type (
	// Picture is one moment of a path.
	Picture = watch.Picture
	// Host is what a host did in a picture's window.
	Host = watch.Host
	// Core is how a core spent its time.
	Core = watch.Core
	// NIC is what an interface carried.
	NIC = watch.NIC
	// Conn is what a connection did.
	Conn = watch.Conn
	// Event is a change of what is shown.
	Event = watch.Event
	// Named is a state with what is named in it.
	Named = watch.Named
)

// The states of a path that the surface words.
const (
	Starting   = watch.Starting
	Moving     = watch.Moving
	CannotTell = watch.CannotTell
	Idle       = watch.Idle
	Unused     = watch.Unused
	Stale      = watch.Stale
	Lost       = watch.Lost
)

// How far a verdict may look back; MaxHosts is how many hosts one view has, and MaxMounts how
// many mounts of this one: each is sampled for itself.
const (
	LeastWindow = 5 * time.Second
	MostWindow  = time.Minute
	MaxHosts    = 16
	MaxMounts   = 8
)

// Options is what is wanted of a view.
type Options struct {
	// Here says what to watch from this host, each a path of its own; Hosts, two or more, that
	// the connections between them are watched, from all of them. One of the two.
	Here     []explain.WatchOptions
	Hosts    []string
	LineRate model.Fact[unit.BitRate]
	Window   time.Duration // that a verdict looks back on
	Show     func([]Picture) error
}

// Mounts are the network mounts of this host, to be watched together: those whose data linerate
// can see. One that it cannot is said.
func Mounts(ctx context.Context, e app.Env, p app.Progress) ([]explain.WatchOptions, error) {
	var out []explain.WatchOptions
	for _, point := range explain.Mounts() {
		o := explain.WatchOptions{Path: point}
		if _, err := o.LiveEnd(ctx, e, p); err != nil {
			p.Say("not watched: %v", err)
			continue
		}
		out = append(out, o)
	}
	switch {
	case len(out) == 0:
		return nil, failure.Of(failure.Usage, "this host has no network mount that can be watched: name two hosts or more, --attach HOST:PORT or --attach PID; a recorded run is shown by linerate watch --replay RUN")
	case len(out) > MaxMounts:
		return nil, failure.Of(failure.Usage, "this host has %d network mounts, and %d are watched at once: name those to watch", len(out), MaxMounts)
	}
	return out, nil
}

// Live shows what goes on, until ctx ends or Show fails.
func Live(ctx context.Context, e app.Env, o Options, p app.Progress) error {
	l := loop.Live{LineRate: o.LineRate, Window: o.Window, Step: loop.LiveStep, Hold: loop.LiveHold, Now: e.Now, Show: o.Show}
	if len(o.Here) > 0 {
		l.Apart = true
		for _, h := range o.Here {
			end, err := h.LiveEnd(ctx, e, p)
			if err != nil {
				return err
			}
			l.Ends = append(l.Ends, end)
		}
		return l.Run(ctx)
	}
	var err error
	if l.Ends, l.LineRate, err = o.ends(ctx, e, p); err != nil {
		return err
	}
	return l.Run(ctx)
}

// ends reaches the hosts once, to see that they are there and by which addresses they know each
// other.
func (o Options) ends(ctx context.Context, e app.Env, p app.Progress) ([]loop.LiveEnd, model.Fact[unit.BitRate], error) {
	var names []host.Name
	for _, text := range o.Hosts {
		n, err := host.ParseName(text)
		if err != nil {
			return nil, o.LineRate, failure.As(failure.Usage, err)
		}
		if slices.Contains(names, n) {
			return nil, o.LineRate, failure.Of(failure.Usage, "watch %s: %s is named twice", strings.Join(o.Hosts, " "), text)
		}
		names = append(names, n)
	}
	d := e.Reach(p)
	agents, err := d.DialAll(ctx, names)
	defer func() {
		for _, a := range agents {
			_ = a.Close() // it has told what we want to know
		}
	}()
	if err != nil {
		return nil, o.LineRate, err
	}
	addrs, err := addresses(ctx, names, agents)
	if err != nil {
		return nil, o.LineRate, err
	}
	rate := o.LineRate
	if rate.State != model.Present && len(names) == 2 {
		rate = d.StatedRate(ctx, names[0], names[1], addrs[1])
	}
	var out []loop.LiveEnd
	for i, n := range names {
		x := loop.LiveEnd{Name: o.Hosts[i], Addr: addrs[i], Dial: func(ctx context.Context) (loop.LiveAgent, error) { return d.Dial(ctx, n) }}
		for j, a := range addrs {
			if j != i {
				x.Target.Peers = append(x.Target.Peers, a)
			}
		}
		out = append(out, x)
	}
	return out, rate, nil
}

// addresses are the hosts' data addresses. This machine's is the one that leads to the others.
func addresses(ctx context.Context, names []host.Name, agents []*host.Client) ([]netip.Addr, error) {
	out := make([]netip.Addr, len(names))
	here := -1
	for i, n := range names {
		if n.Host == reach.Here {
			here = i
			continue
		}
		a, err := reach.Receiver(ctx, "", n, agents[i])
		if err != nil {
			return nil, err
		}
		out[i] = a
	}
	if here < 0 {
		return out, nil
	}
	f, err := agents[here].Facts(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", names[here], err)
	}
	for i := range names {
		if i != here {
			if out[here], err = reach.Source(f, out[i]); err != nil {
				return nil, fmt.Errorf("find the data path from %s: %w", names[here], err)
			}
			return out, nil
		}
	}
	return nil, errors.New("find the data path: one host alone has none")
}
