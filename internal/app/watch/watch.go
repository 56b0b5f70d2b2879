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

// The types of a view that cli names.
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

// Options are the options of a view.
type Options struct {
	// Here is what to watch from this host, each a path of its own. Hosts are two or more hosts;
	// the connections between them are watched from all of them. Only one of the two is set.
	Here     []explain.WatchOptions
	Hosts    []string
	LineRate model.Fact[unit.BitRate]
	Window   time.Duration // how far a verdict looks back
	Show     func([]Picture) error
	// Looked returns the paths that somebody looks at; nil: somebody looks at all.
	Looked func() map[string]bool
	// Queues: pictures have the counters of each transmit queue, for metrics.
	Queues bool
	// Late gets the pictures that paths would have had while they were stale, once the samples of
	// that time have come (loop.Live.Late); nil: they are not made.
	Late func(run []Picture)
}

// ErrNoMount: the host has no mount that can be watched.
var ErrNoMount = errors.New("this host has no network mount that can be watched")

// Mounts are the network mounts of this host whose data linerate can see, to be watched together.
// It says which mounts it leaves out.
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

// ends reaches the hosts once, to learn whether they are there and which addresses they have. A
// host that cannot be reached is tried again while the others are watched.
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

// missing is the error of a host that its lab does not have, so that trying again is no use; nil:
// there is none.
func missing(names []host.Name, failed []error) error {
	for i, err := range failed {
		if names[i].Reach == host.Lab && err != nil && failure.KindOf(err) == failure.Usage {
			return err
		}
	}
	return nil
}

// SiteHosts names the hosts of a site that a selection chooses, for Options.Hosts. Silent hosts are
// tried again while the others are watched.
func SiteHosts(ctx context.Context, e app.Env, site, selection string, p app.Progress) ([]string, error) {
	hosts, err := e.Reach(p).SiteHosts(ctx, site, selection)
	if err != nil {
		return nil, err
	}
	switch {
	case len(hosts) < 2:
		return nil, failure.Of(failure.Usage, "%s selects one host, %s: watch shows the connections between hosts; select two or more", selection, hosts[0].Name)
	case len(hosts) > MaxHosts:
		return nil, failure.Of(failure.Usage, "the hosts %s are %d, and %d are watched at once: select fewer, by names or labels", selection, len(hosts), MaxHosts)
	}
	var names []string
	for _, h := range hosts {
		names = append(names, reach.SiteName(site, h.Name))
	}
	return names, nil
}

// SiteSet names a selection of a site's hosts as such, independent of the hosts that it has now.
func SiteSet(site, selection string) string { return reach.SiteName(site, selection) }

// Check refuses a host that is no name, or that is named twice.
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

// mostDials is how many hosts are dialled at once.
const mostDials = 32

// dialAll dials all hosts. A host that cannot be reached has an error in place of a client.
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

// addresses are the addresses of a host, first the one that is stated for its data.
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
