// Package check is the work of linerate check: it looks at hosts and at the paths
// between them, and applies the rules. It puts no load on anything and changes nothing;
// a host that cannot be looked at says so in its place and does not hold up the others.
package check

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"linerate/internal/app"
	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/report"
	"linerate/internal/rules"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
	"linerate/internal/unit"
)

// atOnce is how many hosts are looked at together.
const atOnce = 8

// atOnceOfSite is how many hosts of a site are looked at together: one connection carries the
// sessions with all of them, and each host works by itself.
const atOnceOfSite = 128

// Options says what to check, and how.
type Options struct {
	Site  string   // selects hosts of a site in place of Hosts: all, names, or labels; empty: none
	Of    string   // the site; empty: the only one that is kept here
	Hosts []string // as the user named them; none: this one
	From  string   // folder of a recording, which is read instead of hosts

	// LineRate and RTT describe the path to the other end, as the user stated it; 0: not
	// stated. A LineRate without RTT applies to the paths between the hosts.
	LineRate unit.BitRate
	RTT      time.Duration

	Watch  time.Duration // time between two looks; 0: look once
	Always bool          // look twice even if no counter calls for it

	LLDP     time.Duration // how long to listen for switches; 0: not at all
	Switches []string      // addresses to ask by SNMP
	Login    string        // file with the credentials for them
}

// context is what the user stated, as the rules of one host take it.
func (o Options) context() rules.Context {
	if o.RTT == 0 {
		return rules.Context{}
	}
	return rules.Context{LineRate: o.LineRate, RTT: o.RTT}
}

// work is a check in progress.
type work struct {
	Options
	app.Env
	p app.Progress
}

// looks are the facts of one host. Only two looks show which counters rise; after a
// single one first is nil.
type looks struct{ first, last *model.Facts }

// twice looks at a host, and looks again if that was asked for or if a counter calls for
// it. If the second look fails, the first one counts.
func (o Options) twice(ctx context.Context, look func(context.Context) (*model.Facts, error)) (looks, error) {
	f, err := look(ctx)
	if err != nil || o.Watch <= 0 || !o.Always && !rules.WantsSecondLook(f) {
		return looks{last: f}, err
	}
	select {
	case <-ctx.Done():
		return looks{}, ctx.Err()
	case <-time.After(o.Watch):
	}
	again, err := look(ctx)
	if err != nil {
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "the second look", WouldShow: "which counters rise", How: failure.FirstLine(err)})
		return looks{last: f}, nil
	}
	return looks{f, again}, nil
}

// Run looks at every host that was asked for. One that fails says so in its place; the
// others are still told.
//
// Of hosts of a site nothing is sent from one to another: it looks at no pairs, and what the
// hosts have in common is told. The error is of a selection that chooses no host.
func Run(ctx context.Context, e app.Env, o Options, p app.Progress) (report.Check, error) {
	c := report.Check{V: 1, Pairs: []report.Pair{}, Site: o.Site}
	switch {
	case o.Site != "":
		return runSite(ctx, e, o, p, c)
	case o.From != "":
		l, err := recordedFacts(ctx, o)
		c.Hosts = []report.HostCheck{judge(o.recording(), l, err, o.context())}
		return c, nil
	case len(o.Hosts) == 0:
		o.Hosts = []string{reach.Here}
	}
	w := work{o, e, p}
	seen := w.lookAtAll(ctx, atOnce)
	defer func() {
		for i := range seen {
			seen[i].close()
		}
	}()
	w.lookAtSwitches(ctx, seen)
	for i, name := range o.Hosts {
		c.Hosts = append(c.Hosts, judge(name, seen[i].looks, seen[i].err, o.context()))
	}
	c.Pairs = append(c.Pairs, w.pairs(ctx, seen)...)
	return c, nil
}

func (w work) lookAtAll(ctx context.Context, together int) []looked {
	seen := make([]looked, len(w.Hosts))
	slots := make(chan struct{}, together)
	var wait sync.WaitGroup
	for i, name := range w.Hosts {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			seen[i] = w.lookAt(ctx, name)
		})
	}
	wait.Wait()
	return seen
}

// looked is a host after the look at it. Its agent, if it has one, still runs.
type looked struct {
	name  host.Name
	as    string // as the user named it
	looks looks
	facts *model.Facts // of the last look
	err   error
	agent *host.Client
	// foreign: linerate does not run on this system; only a fixed script can read it.
	foreign bool
}

// close ends the agent. Its errors do not matter: everything was read.
func (l *looked) close() {
	if l.agent != nil {
		_ = l.agent.Close()
	}
}

func (w work) lookAt(ctx context.Context, name string) looked {
	l := looked{as: name}
	if l.name, l.err = host.ParseName(name); l.err != nil {
		return l
	}
	if l.name.Path != "" {
		l.err = fmt.Errorf("check %s: name a host without a path (nas1, user@nas1, lab:client1)", name)
		return l
	}
	look := func(ctx context.Context) (*model.Facts, error) {
		return facts.Read(ctx, kernel.Live{}, name, w.Now())
	}
	ctx, cancel := context.WithTimeout(ctx, reach.Within+w.Watch)
	defer cancel()
	if !reach.IsHere(l.name) || w.Local.OS() != "linux" {
		if look, l.err = w.reach(ctx, &l); l.err != nil {
			return l
		}
	} else if said := host.Alarm(ctx); said != "" {
		w.p.Say("%s: %s", name, said) // on other hosts the agent says it
	}
	l.looks, l.err = w.twice(ctx, look)
	l.facts = l.looks.last
	return l
}

// reach gets to a host and says how to look at it: through an agent, or where linerate of this
// build does not run and the system is known, by that system's script.
func (w work) reach(ctx context.Context, l *looked) (func(context.Context) (*model.Facts, error), error) {
	var err error
	if l.agent, err = w.Reach(w.p).Agent(ctx, l.name); err == nil {
		return l.agent.Facts, nil
	}
	var other *host.Foreign
	if !errors.As(err, &other) {
		return nil, err
	}
	system, ok := systems.Find(other.GOOS)
	if !ok {
		return nil, err
	}
	l.foreign = true
	return func(ctx context.Context) (*model.Facts, error) {
		answer, err := w.Reach(w.p).Ask(ctx, l.name, system.Name(), system.Script(), frame.Most)
		if err != nil {
			return nil, err
		}
		return systems.Read(system, answer, l.as, w.Now())
	}, nil
}

// judge applies the rules to the facts of one host.
func judge(name string, l looks, err error, c rules.Context) report.HostCheck {
	h := report.HostCheck{Name: name, Findings: []report.CheckFinding{}, CouldNotSee: []model.Blind{}}
	if err != nil {
		h.Error, h.Cause = failure.FirstLine(err), err
		return h
	}
	f := l.last
	if c.Earlier = l.first; l.first != nil {
		h.Watched = f.Taken.Sub(l.first.Taken)
	}
	h.Facts, h.Abilities = f, systems.Abilities(f.OS)
	h.CouldNotSee = append(h.CouldNotSee, f.CouldNotSee...)
	why := map[string]string{}
	for _, r := range rules.All() {
		why[r.ID] = r.Doc
	}
	for _, found := range rules.Check(f, c) {
		h.Findings = append(h.Findings, report.NewCheckFinding(found, why[found.Rule]))
	}
	return h
}
