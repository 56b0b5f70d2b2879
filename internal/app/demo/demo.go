// Package demo is the work of linerate demo: the whole loop on two emulated hosts, with
// one thing put wrong that the rest of the program is not told. It touches nothing
// outside the namespaces that it makes, and leaves none of them.
package demo

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/topology"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Options is what is wanted of a demo.
type Options struct {
	Fault   string // what to put wrong; empty draws one that a setting cures
	NoProof bool   // stop at the verdict
	Discard bool   // the sink drops what it receives in the kernel
	Seed    uint64 // of the drawing and of the order of the runs; 0 draws one
	// Again is this program with the arguments that ask for the same demo with this
	// fault and seed. It is started inside a user namespace where this user may make
	// namespaces only there.
	Again func(fault string, seed uint64) Process
}

// Process is what a process is given.
type Process struct {
	Args     []string // without the program
	In       io.Reader
	Out, Err io.Writer
}

// Demo is how a demo went: its record, or the exit code of the process that made it
// inside a user namespace and has told how it went.
type Demo struct {
	Fault  string
	Seed   uint64
	Record *app.Record
	Code   int
}

// Faults lists what can be put wrong.
func Faults() []lab.Fault { return lab.Faults() }

// Run is the story: choose, build, run the loop, take everything down, and only then
// tell how it went.
func Run(ctx context.Context, e app.Env, o Options, p app.Progress) (Demo, error) {
	var err error
	if o.Seed == 0 {
		if o.Seed, err = app.Seed(); err != nil {
			return Demo{}, err
		}
	}
	fault, err := chooseFault(o.Fault, o.Seed)
	if err != nil {
		return Demo{}, err
	}
	opts, err := app.Sweep(ctx, e, p)
	if err != nil {
		return Demo{}, err
	}
	d := Demo{Fault: fault.ID, Seed: o.Seed}
	need, err := lab.NeedUserNS()
	switch {
	case err != nil:
		return d, err
	case need:
		again := o.Again(d.Fault, d.Seed)
		// An interrupt is passed on by the call; cancelling would kill instead.
		d.Code, err = lab.ReexecInUserNS(context.WithoutCancel(ctx), slices.Concat(e.Self, again.Args), again.In, again.Out, again.Err)
		return d, err
	}
	d.Record, err = inLab(ctx, e, o, fault, opts, p)
	return d, err
}

// inLab returns when the lab is gone, however it went.
func inLab(ctx context.Context, e app.Env, o Options, fault lab.Fault, opts lab.Options, p app.Progress) (rec *app.Record, err error) {
	base, err := topology.Demo()
	if err != nil {
		return nil, err
	}
	network := fault.Topology(base)
	l, err := lab.Up(ctx, network, opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(err, "take the lab down", l.Down) }()
	p.Say("built the lab: %s", network)
	for _, s := range l.LeftOut() {
		p.Say("left out: %s", s)
	}
	if err := l.Inject(ctx, fault); err != nil {
		return nil, err
	}
	rec, err = pass(ctx, e, l, fault, o, p)
	if err != nil {
		if rec != nil && !rec.Results.Restored {
			return nil, failure.As(failure.NotRestored, err)
		}
		return nil, err
	}
	r := &rec.Results
	r.Topology = network.String()
	r.LeftOut = l.LeftOut()
	r.Injected = fault.ID + ": " + fault.Doc
	r.Warnings = append(r.Warnings, linkWarnings(ctx, l)...)
	return rec, nil
}

// pass reaches both hosts and makes one pass.
func pass(ctx context.Context, e app.Env, l *lab.Lab, fault lab.Fault, o Options, p app.Progress) (_ *app.Record, err error) {
	network := l.Topology()
	ends := make([]loop.End, len(network.Hosts))
	for i, h := range network.Hosts {
		name := h.Name
		c, err := host.Dial(ctx, endpoint(e, l, name), host.Options{Log: p.Detail, Now: e.Now})
		if err != nil {
			return nil, fmt.Errorf("reach %s: %w", name, err)
		}
		defer func() { _ = c.Close() }()
		ends[i] = loop.End{Name: name, Addr: l.Addr(name), Agent: c}
	}
	pass := loop.Loop{
		Sender: ends[0], Receiver: ends[1],
		Workload: model.Workload{Streams: 1, CC: "cubic", SourceUse: model.SourceUse{Rate: fault.SourceRate}, SinkUse: model.SinkUse{Discard: o.Discard}},
		LineRate: model.Known(network.Links[0].AB.Rate),
		Timing:   loop.DefaultTiming(),
		Prove:    !o.NoProof,
		Seed:     o.Seed,
		Now:      e.Now,
		Progress: app.Steps(p),
		Report:   func(v model.Verdict) { p.Say("verdict: %s", v.Line) },
		Lost:     func(ctx context.Context) []string { return linkLosses(ctx, l) },
	}
	pass.Operator = &labOperator{lab: l, fault: fault, pass: &pass}
	return pass.Run(ctx)
}

func endpoint(e app.Env, l *lab.Lab, name string) host.Endpoint {
	return host.Endpoint{Name: name, Argv: l.Enter(name), Self: e.Self, Data: []netip.Addr{l.Addr(name)}, StateDir: l.StateDir(name)}
}

// labOperator lets the lab play the operator: it acts on the advice, and finds
// something only if that is where the fault is.
type labOperator struct {
	lab    *lab.Lab
	fault  lab.Fault
	pass   *loop.Loop
	rate   unit.BitRate
	active bool
}

// Remove implements loop.Operator.
func (o *labOperator) Remove(ctx context.Context, limiter model.LimiterID) (bool, error) {
	if limiter != o.fault.Limiter {
		return false, nil
	}
	if err := o.lab.Cure(ctx, o.fault); err != nil {
		return false, err
	}
	o.active, o.rate = true, o.pass.Workload.Rate
	o.pass.Workload.Rate = 0
	return true, nil
}

// PutBack implements loop.Operator.
func (o *labOperator) PutBack(ctx context.Context) error {
	if !o.active {
		return nil
	}
	o.active, o.pass.Workload.Rate = false, o.rate
	return o.lab.Inject(ctx, o.fault)
}

func chooseFault(id string, seed uint64) (lab.Fault, error) {
	if id != "" {
		f, err := lab.FindFault(id)
		return f, failure.As(failure.Usage, err)
	}
	curable := slices.DeleteFunc(lab.Faults(), func(f lab.Fault) bool { return f.FixKind != model.FixSetting })
	return curable[seed%uint64(len(curable))], nil
}

// linkWarnings tells when the emulated link itself lost what it should not.
func linkWarnings(ctx context.Context, l *lab.Lab) []model.Warning {
	stats, ok, err := l.LinkStats(ctx)
	switch {
	case err != nil:
		return []model.Warning{{ID: "link-unread", What: "the emulated link's own counters could not be read", Evidence: err.Error(), Next: "run the demo again before trusting it"}}
	case ok:
		return stats.Warnings()
	}
	return nil
}

// linkLosses words what the emulated link lost of its own accord, as far as it can be read.
func linkLosses(ctx context.Context, l *lab.Lab) []string {
	stats, _, err := l.LinkStats(ctx)
	if err != nil {
		return nil
	}
	return app.Whats(stats.Warnings())
}

// closing runs a clean-up that must happen although ctx may be done, and keeps
// the first error first.
func closing(err error, what string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if cerr := f(ctx); cerr != nil {
		cerr = fmt.Errorf("%s: %w", what, cerr)
		if err != nil {
			cerr = fmt.Errorf("%w; and then: %w", err, cerr)
		}
		return failure.As(failure.NotRestored, cerr)
	}
	return err
}
