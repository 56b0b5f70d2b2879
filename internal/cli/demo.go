package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/topology"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

type demoOptions struct {
	fault   string
	noProof bool
	discard bool
	seed    uint64
}

func demoCommand(env *environment) *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The whole loop on two emulated hosts: look, find the limiter, fix it, prove the gain, undo",
		Long: `demo builds two emulated hosts joined by one link, puts one thing wrong without
telling the rest of the program, and runs the loop: it looks at both hosts,
computes the ceiling, runs TCP between them, names the limiter from evidence,
applies the one fix, proves the gain with interleaved pairs, undoes it, writes a
report and removes every trace. It takes less than a minute, touches nothing
outside the namespaces it makes, and needs no root (an ordinary user's hosts
live in a user namespace).

Faults:
` + faultList(),
		Example: `  linerate demo                      draw one that a setting cures
  linerate demo --fault loss         something only an operator can mend
  linerate demo --fault none --json  a healthy path`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), env, o) },
	}
	cmd.Flags().StringVar(&o.fault, "fault", "", "what to put wrong; empty draws a curable one")
	cmd.Flags().BoolVar(&o.noProof, "no-proof", false, "stop at the verdict: change nothing, prove nothing")
	cmd.Flags().BoolVar(&o.discard, "discard", false, "let the sink drop what it receives in the kernel, as no real receiver does; results are marked")
	cmd.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the drawing and of the order of the runs; 0 draws one")
	return cmd
}

func faultList() string {
	var b strings.Builder
	for _, f := range lab.Faults() {
		fmt.Fprintf(&b, "  %-10s  %s\n", f.ID, f.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}

// runDemo is the story: choose, build, run the loop, take everything down,
// and only then tell how it went.
func runDemo(ctx context.Context, env *environment, o demoOptions) (err error) {
	if o.seed == 0 {
		if o.seed, err = randomSeed(); err != nil {
			return err
		}
	}
	fault, err := chooseFault(o.fault, o.seed)
	if err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	opts, err := sweep(ctx, env, p)
	if err != nil {
		return err
	}
	if nested, err := inUserNS(ctx, env, o, fault); nested || err != nil {
		return err
	}
	rec, err := demoInLab(ctx, env, o, fault, opts, p)
	if err != nil {
		return err
	}
	return conclude(env, rec)
}

// demoInLab returns when the lab is gone, however it went.
func demoInLab(ctx context.Context, env *environment, o demoOptions, fault lab.Fault, opts lab.Options, p *progress) (rec *loop.Record, err error) {
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
	rec, err = demoLoop(ctx, env, l, fault, o, p)
	if err != nil {
		if rec != nil && !rec.Results.Restored {
			return nil, failure.As(failure.NotRestored, err)
		}
		return nil, err
	}
	r := &rec.Results
	r.Command, r.Build, r.Topology, r.LeftOut, r.Injected = fmt.Sprintf("demo --fault %s --seed %d", fault.ID, o.seed), env.Build, network.String(), l.LeftOut(), fault.ID+": "+fault.Doc
	r.Warnings = append(r.Warnings, linkWarnings(ctx, l)...)
	return rec, nil
}

// demoLoop reaches both hosts and makes one pass.
func demoLoop(ctx context.Context, env *environment, l *lab.Lab, fault lab.Fault, o demoOptions, p *progress) (_ *loop.Record, err error) {
	network := l.Topology()
	ends := make([]loop.End, len(network.Hosts))
	for i, h := range network.Hosts {
		name := h.Name
		c, err := host.Dial(ctx, labEndpoint(env, l, name), host.Options{Log: p.Detail, Now: env.Now})
		if err != nil {
			return nil, fmt.Errorf("reach %s: %w", name, err)
		}
		defer func() { _ = c.Close() }()
		ends[i] = loop.End{Name: name, Addr: l.Addr(name), Agent: c}
	}
	pass := loop.Loop{
		Sender: ends[0], Receiver: ends[1],
		Workload: model.Workload{Streams: 1, CC: "cubic", Rate: fault.SourceRate, Discard: o.discard},
		LineRate: model.Known(network.Links[0].AB.Rate),
		Timing:   loop.DefaultTiming(),
		Prove:    !o.noProof,
		Seed:     o.seed,
		Now:      env.Now,
		Progress: func(step string) { p.Say("%s", step) },
		Report:   func(v model.Verdict) { p.Say("verdict: %s", v.Line) },
	}
	pass.Operator = &labOperator{lab: l, fault: fault, pass: &pass}
	return pass.Run(ctx)
}

func labEndpoint(env *environment, l *lab.Lab, name string) host.Endpoint {
	return host.Endpoint{Name: name, Argv: l.Enter(name), Self: env.Self, Data: []netip.Addr{l.Addr(name)}, StateDir: l.StateDir(name)}
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
	var curable []lab.Fault
	var ids []string
	for _, f := range lab.Faults() {
		if f.ID == id {
			return f, nil
		}
		if f.FixKind == model.FixSetting {
			curable = append(curable, f)
		}
		ids = append(ids, f.ID)
	}
	if id != "" {
		return lab.Fault{}, failure.Of(failure.Usage, "unknown fault %q; choose one of %s", id, strings.Join(ids, ", "))
	}
	return curable[seed%uint64(len(curable))], nil
}

func randomSeed() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw a seed: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:])>>12 | 1, nil
}

// sweep removes what a killed demo of this user left, before this process may
// enter a user namespace, from inside which it could not be seen.
func sweep(ctx context.Context, env *environment, p *progress) (lab.Options, error) {
	dir, err := lab.StateDir(env.Getenv, os.Geteuid(), os.TempDir())
	if err != nil {
		return lab.Options{}, err
	}
	opts := lab.Options{Self: env.Self, StateDir: dir}
	removed, err := lab.Sweep(ctx, opts)
	for _, r := range removed {
		p.Say("removed what an earlier run left: %s", r)
	}
	return opts, err
}

// inUserNS runs the whole demo again inside a user namespace where this
// process may not make namespaces itself. The seed and the fault are drawn
// already, so that both see the same.
func inUserNS(ctx context.Context, env *environment, o demoOptions, fault lab.Fault) (nested bool, err error) {
	need, err := lab.NeedUserNS()
	if err != nil || !need {
		return false, err
	}
	argv := append(env.Self, "demo", "--fault", fault.ID, "--seed", strconv.FormatUint(o.seed, 10))
	if o.noProof {
		argv = append(argv, "--no-proof")
	}
	if o.discard {
		argv = append(argv, "--discard")
	}
	if env.json {
		argv = append(argv, "--json")
	}
	// An interrupt is passed on by the call; cancelling would kill instead.
	code, err := lab.ReexecInUserNS(context.WithoutCancel(ctx), argv, env.in, env.out, env.err)
	if err != nil {
		return true, err
	}
	if code != ExitOK {
		return true, &childError{code} // it has said why
	}
	return true, nil
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
