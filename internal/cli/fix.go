package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

type fixOptions struct {
	explainOptions
	budget time.Duration
	yes    bool
	seed   uint64
}

// defaultBudget holds some ten proofs.
const defaultBudget = 20 * time.Minute

func fixCommand(env *environment) *cobra.Command {
	var o fixOptions
	cmd := &cobra.Command{
		Use:   "fix SENDER RECEIVER | CLIENT SERVER:/EXPORT",
		Short: "Find what limits a path, change it, prove the gain, keep or undo, and go on to the next limit",
		Long: `fix logs in to two hosts (ssh, or the lab) and runs memory-to-memory TCP between
them, or reads an export that the first has mounted from the second. It names the
one thing that limits the path, changes that, and measures randomised pairs of runs
with and without the change. What earned its place is kept, what did not is put
back. Then it looks again, until what is left is the link, something that only an
operator can do, or nothing that it can tell. At the end, what a later change made
needless is taken out again.

It asks before each change, unless --yes is given; it never changes what trades
data safety or security for speed. Each host keeps a journal: linerate tune undo
HOST puts back all that was kept, and a host undoes a change by itself when this
program dies in the middle of a proof or the change cuts it off.`,
		Example: `  linerate fix client1 nas1 --line-rate 10Gbit
  linerate fix client1 nas1:/export
  linerate fix lab:client1 lab:server1 --yes
  linerate fix client1 root@nas1 --via 10.0.0.2 --budget 5m
  linerate tune undo nas1                          put back what was kept`,
		Args: usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runFix(cmd.Context(), env, o, args) },
	}
	cmd.Flags().DurationVar(&o.budget, "budget", defaultBudget, "begin no proof that would end later than this")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "make the changes without asking for each")
	cmd.Flags().StringVar(&o.lineRate, "line-rate", "", "what the link can carry, e.g. 10Gbit; needed where the NIC is virtual or the slowest link is elsewhere")
	cmd.Flags().StringVar(&o.via, "via", "", "the receiver's data address, where its name leads elsewhere (a management port)")
	cmd.Flags().IntVar(&o.streams, "streams", 1, "TCP connections at once")
	cmd.Flags().StringVar(&o.cc, "cc", "", "congestion control to ask for; empty leaves the sender's default")
	cmd.Flags().StringVar(&o.file, "file", "", "file to read, relative to the export; empty is the largest there is")
	cmd.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the order of the runs; 0 draws one")
	return cmd
}

func runFix(ctx context.Context, env *environment, o fixOptions, args []string) error {
	o.watch = maxWatch // not of use here, and checked
	rate, err := o.check(args)
	if err != nil {
		return err
	}
	names, err := pairNames(o.explainOptions, args)
	if err != nil {
		return err
	}
	switch {
	case o.budget <= 0 || o.budget > 24*time.Hour:
		return failure.Of(failure.Usage, "--budget %s: choose up to 24h", o.budget)
	case !o.yes && !asksHere(env):
		return failure.Of(failure.Usage, "fix changes settings of %s and %s and asks before each: run it on a terminal, or allow all with --yes", args[0], args[1])
	}
	if o.seed == 0 {
		if o.seed, err = randomSeed(); err != nil {
			return err
		}
	}
	p := newProgress(env)
	defer p.End()
	agents, err := env.Reach(p).DialAll(ctx, names)
	defer func() {
		for _, a := range agents {
			_ = a.Close()
		}
	}()
	if err != nil {
		return err
	}
	rec, err := fixPath(ctx, env, o, pair{names, args, agents}, rate, p)
	return concludeFix(ctx, env, rec, args, err)
}

func fixPath(ctx context.Context, env *environment, o fixOptions, h pair, rate model.Fact[unit.BitRate], p *progress) (*loop.Record, error) {
	export, via, err := findExport(ctx, o.explainOptions, h)
	if err != nil {
		return nil, err
	}
	if export != nil && export.Mount.Point == "" {
		return nil, failure.Of(failure.Usage, "fix %s %s: %s has not mounted it: mount it, or name the two hosts alone to fix the network between them", h.args[0], h.args[1], h.args[0])
	}
	if o.via == "" {
		o.via = via
	}
	from, to, err := reach.Path(ctx, o.via, h.names, h.agents)
	if err != nil {
		return nil, err
	}
	if rate.State != model.Present {
		rate = env.Reach(p).StatedRate(ctx, h.names[0], h.names[1], to)
	}
	sender, receiver := loop.End{Name: h.args[0], Addr: from, Agent: h.agents[0]}, loop.End{Name: h.args[1], Addr: to, Agent: h.agents[1]}
	if export != nil { // as a read flows
		receiver.Name = strings.TrimSuffix(h.args[1], ":"+h.names[1].Path)
		sender, receiver = receiver, sender
	}
	p.Say("data path: %s (%s) → %s (%s)", sender.Name, sender.Addr, receiver.Name, receiver.Addr)
	f := loop.Fix{
		Loop: loop.Loop{
			Sender: sender, Receiver: receiver,
			Workload: model.Workload{Streams: o.streams, CC: o.cc}, LineRate: rate, Timing: loop.DefaultTiming(),
			Seed: o.seed, Now: env.Now, Progress: func(s string) { p.Say("%s", s) },
			Report: func(v model.Verdict) { p.Say("verdict: %s", v.Line) },
		},
		Budget: o.budget, Export: export,
	}
	if !o.yes {
		f.Ask = func(v model.Verdict) (bool, error) { return askFix(env, v.Fix) }
	}
	return f.Run(ctx)
}

// asksHere: somebody can be asked.
func asksHere(env *environment) bool {
	in, ok := env.in.(*os.File)
	if !ok || env.json {
		return false
	}
	tty, _ := isTerminal(in)
	return tty
}

func askFix(env *environment, x model.Fix) (bool, error) {
	on := x.Setting
	if x.Target != "" {
		on += " of " + x.Target
	}
	fmt.Fprintf(env.err, "change %s on %s from %q to %q, measure it, and keep it if it helps? [y/N] ", on, x.Host, x.From, x.To)
	answer, err := bufio.NewReader(env.in).ReadString('\n')
	if err != nil {
		return false, nil // the end of the input allows nothing
	}
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y"), nil
}

// concludeFix keeps the bundle, also of a climb that was cut short: what was kept
// before stands.
func concludeFix(ctx context.Context, env *environment, rec *loop.Record, args []string, err error) error {
	if rec == nil {
		return err
	}
	kept := keptOn(rec.Results.Steps)
	if err != nil {
		if !rec.Results.Restored {
			err = failure.As(failure.NotRestored, err)
		}
		if kept == "" {
			return err
		}
		kind := failure.KindOf(err)
		if kind == failure.Failed && ctx.Err() != nil {
			kind = failure.Interrupted
		}
		return failure.Of(kind, "%w; what had earned its place before is kept: linerate tune undo %s puts it back", err, kept)
	}
	rec.Results.Command, rec.Results.Build = "fix "+strings.Join(args, " "), env.Build
	return conclude(env, rec)
}

// keptOn lists the hosts on which something was kept.
func keptOn(steps []model.FixStep) string {
	var hosts []string
	seen := map[string]bool{}
	for _, s := range steps {
		if s.Kept && !seen[s.Host] {
			seen[s.Host] = true
			hosts = append(hosts, s.Host)
		}
	}
	return strings.Join(hosts, " and ")
}

var _ loop.Keeper = (*host.Client)(nil)
