// Package watch is the work of linerate watch: what paths carry and what holds them back, live
// from this host or several, or played again from a recorded run. It puts no load on anything and
// changes nothing.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
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
	// Mark is what changed on a host, or a run that was kept.
	Mark = watch.Mark
	// Trail remembers what was shown lately.
	Trail = past.Trail
	// Strip is what was shown of a path lately, in columns.
	Strip = past.Strip
)

// What a mark is of.
const (
	MarkTuned  = watch.MarkTuned
	MarkUndone = watch.MarkUndone
	MarkHost   = watch.MarkHost
	MarkRun    = watch.MarkRun
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

// Bounds: how far back a verdict looks, how many hosts one view has (MaxHosts), and how many
// mounts of this host (MaxMounts), each of which is sampled separately.
const (
	LeastWindow = 5 * time.Second
	MostWindow  = time.Minute
	MaxHosts    = 1000
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
	// Looked tells which paths somebody looks at; nil: all of them.
	Looked func() map[string]bool
	// Queues has pictures carry what each transmit queue counts, for metrics.
	Queues bool
	// Late gets what paths would have been shown as while they were stale, once samples of that time
	// have come, as loop.Live has it; nil: nobody wants it.
	Late func(run []Picture)
}

// ErrNoMount is of a host without a mount that can be watched.
var ErrNoMount = errors.New("this host has no network mount that can be watched")

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
		return nil, failure.Advise(failure.As(failure.Usage, ErrNoMount), failure.NameWatched)
	case len(out) > MaxMounts:
		return nil, failure.Of(failure.Usage, "this host has %d network mounts, and %d are watched at once: name those to watch", len(out), MaxMounts)
	}
	return out, nil
}

// Live shows what goes on, until ctx ends or Show fails.
func Live(ctx context.Context, e app.Env, o Options, p app.Progress) error {
	l := loop.Live{LineRate: o.LineRate, Window: o.Window, Step: loop.LiveStep, Hold: loop.LiveHold, Now: e.Now, Show: o.Show, Looked: o.Looked, Queues: o.Queues, Late: o.Late, Crashed: e.Crashed}
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
	if l.Ends, l.LineRates, err = o.ends(ctx, e, p); err != nil {
		return err
	}
	return l.Run(ctx)
}

// ends reaches the hosts once, to see that they are there and which addresses they have. One that is
// not is tried again while the others are watched.
func (o Options) ends(ctx context.Context, e app.Env, p app.Progress) ([]loop.LiveEnd, map[[2]int]model.StatedRate, error) {
	names, err := o.names()
	if err != nil {
		return nil, nil, err
	}
	d := e.Reach(p)
	b := newBook(len(names))
	open, failed := dialAll(ctx, d, names, b)
	reached, why := 0, error(nil)
	for i, a := range open {
		if a != nil {
			reached++
		} else {
			why = cmp.Or(why, failed[i])
		}
	}
	if reached > 0 {
		why = cmp.Or(missing(names, failed), b.check(o.Hosts))
	}
	if why != nil || ctx.Err() != nil {
		for _, a := range open {
			if a != nil {
				_ = a.Close() // what is wrong is known
			}
		}
		return nil, nil, cmp.Or(why, ctx.Err())
	}
	for i, err := range failed {
		if err != nil {
			p.Say("%s cannot be reached, and is tried again: %s", o.Hosts[i], failure.FirstLine(err))
		}
	}
	var rates map[[2]int]model.StatedRate
	if o.LineRate.State != model.Present {
		rates = d.StatedRates(ctx, names)
	}
	own, err := brokers(ctx, d, names)
	if err != nil {
		p.Say("connections to the site's brokers are shown too: %s", failure.FirstLine(err))
	}
	live := func(n host.Name, c *host.Client) loop.LiveAgent {
		if n.Reach == host.Site {
			return siteAgent{explain.LiveAgent{Client: c}, own}
		}
		return explain.LiveAgent{Client: c}
	}
	var out []loop.LiveEnd
	for i, n := range names {
		x := loop.LiveEnd{Name: o.Hosts[i], Own: func() []netip.Addr { return b.own(i) }, Peers: func() []netip.Addr { return b.peers(i) }, Dial: func(ctx context.Context) (loop.LiveAgent, error) {
			if first := open[i]; first != nil { // it is there already
				open[i] = nil
				return live(n, first), nil
			}
			again, err := d.Dial(ctx, n)
			if err == nil {
				err = b.look(ctx, i, n, again)
			}
			if err != nil {
				return nil, err
			}
			return live(n, again), nil
		}}
		if n.Host == reach.Here {
			x.Target.Control = os.Getpid()
		}
		out = append(out, x)
	}
	return out, rates, nil
}

// missing is the error of a host that its lab does not have, and will not have later.
func missing(names []host.Name, failed []error) error {
	for i, err := range failed {
		if names[i].Reach == host.Lab && err != nil && failure.KindOf(err) == failure.Usage {
			return err
		}
	}
	return nil
}

// SiteHosts names the hosts of a site that a selection chooses, for Options.Hosts. Those that are
// silent are tried again while the others are watched.
func SiteHosts(ctx context.Context, e app.Env, site, selection string, p app.Progress) ([]string, error) {
	hosts, err := e.Reach(p).SiteHosts(ctx, site, selection)
	if err != nil {
		return nil, err
	}
	switch {
	case len(hosts) < 2:
		return nil, failure.Of(failure.Usage, "the hosts %s are %s alone: what is watched are the connections between hosts; select two or more", selection, hosts[0].Name)
	case len(hosts) > MaxHosts:
		return nil, failure.Of(failure.Usage, "the hosts %s are %d, and %d are watched at once: select fewer, by names or labels", selection, len(hosts), MaxHosts)
	}
	var names []string
	for _, h := range hosts {
		names = append(names, reach.SiteName(site, h.Name))
	}
	return names, nil
}

// SiteSet names what a selection of a site's hosts is, whichever those are just now.
func SiteSet(site, selection string) string { return reach.SiteName(site, selection) }

// Check refuses hosts that are no names, or named twice.
func (o Options) Check() error {
	_, err := o.names()
	return err
}

// names are the hosts, each once.
func (o Options) names() (out []host.Name, err error) {
	for _, text := range o.Hosts {
		n, err := host.ParseName(text)
		if err != nil {
			return nil, failure.As(failure.Usage, err)
		}
		if slices.Contains(out, n) {
			return nil, failure.Of(failure.Usage, "%s: %s is named twice", strings.Join(o.Hosts, " "), text)
		}
		out = append(out, n)
	}
	return out, nil
}

// mostDials is how many hosts are reached for at once.
const mostDials = 32

// dialAll reaches for all hosts. One that cannot be reached has an error in place of a client.
func dialAll(ctx context.Context, d reach.Dialler, names []host.Name, b *book) ([]*host.Client, []error) {
	open, failed := make([]*host.Client, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(mostDials)
	for i, n := range names {
		group.Go(func() error {
			defer failure.OnPanic(d.Crashed)
			c, err := d.Dial(ctx, n)
			if err == nil {
				err = b.look(ctx, i, n, c)
			}
			if err == nil {
				open[i] = c
			}
			failed[i] = err
			return nil
		})
	}
	_ = group.Wait() // each has its own
	return open, failed
}

// addresses are those that a host has: the one that is stated for its data first.
func addresses(ctx context.Context, n host.Name, agent *host.Client) ([]netip.Addr, error) {
	f, err := agent.Facts(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", n, err)
	}
	out := slices.Clone(agent.Data())
	for _, nic := range f.NICs {
		for _, p := range nic.Addrs {
			a := p.Addr().Unmap()
			if !a.IsLoopback() && !a.IsLinkLocalUnicast() && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out, nil
}
