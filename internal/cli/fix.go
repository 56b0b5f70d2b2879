package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/fix"
	"linerate/internal/failure"
	"linerate/internal/model"
)

type fixOptions struct {
	streamFlags
	budget time.Duration
	yes    bool
	seed   uint64
	typed  string // all of the command
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
one thing that limits the path, changes it, and measures randomised pairs of runs
with and without the change. fix keeps a change that brings a gain and undoes every
other. Then it diagnoses the path again, until the limiter is the link itself,
something that only an operator can change, or something that it cannot tell. At
the end it undoes changes that a later one made unnecessary.

It asks before each change, unless --yes is given; it never makes a change that trades
data safety or security for speed. Each host keeps a journal: linerate tune undo
HOST undoes every change that was kept. A host undoes a change by itself if this
program dies in the middle of a proof or the change cuts it off.`,
		Example: `  linerate fix client1 nas1 --line-rate 10Gbit
  linerate fix client1 nas1:/export
  linerate fix lab:client1 lab:server1 --yes
  linerate fix client1 root@nas1 --via 10.0.0.2 --budget 5m
  linerate tune undo nas1                          put back what was kept`,
		Args: usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.typed = asTyped(cmd, args)
			return runFix(cmd.Context(), env, o, args)
		},
	}
	durationVar(cmd.Flags(), &o.budget, "budget", defaultBudget, "begin no proof that would end later than this")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "make the changes without asking for each")
	cmd.Flags().StringVar(&o.lineRate, "line-rate", "", "what the link can carry, e.g. 10Gbit; needed where the NIC is virtual or the slowest link is elsewhere")
	cmd.Flags().StringVar(&o.via, "via", "", "the receiver's data address, if its name resolves to another one (a management port)")
	cmd.Flags().IntVar(&o.streams, "streams", 1, "TCP connections at once")
	cmd.Flags().StringVar(&o.cc, "cc", "", "congestion control to ask for; empty leaves the sender's default")
	cmd.Flags().StringVar(&o.file, "file", "", "file to read, relative to the export; empty is the largest there is")
	cmd.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the order of the runs; 0 draws one")
	return cmd
}

func runFix(ctx context.Context, env *environment, o fixOptions, args []string) error {
	stream, err := o.stream()
	if err != nil {
		return err
	}
	pair, err := pairOf(args, o.file, "")
	if err != nil {
		return err
	}
	switch {
	case o.budget <= 0 || o.budget > 24*time.Hour:
		return failure.Of(failure.Usage, "--budget %s: choose up to 24h", o.budget)
	case !o.yes && !asksHere(env):
		return failure.Of(failure.Usage, "fix changes settings of %s and %s and asks before each: run it on a terminal, or allow all with --yes", args[0], args[1])
	}
	job := fix.Options{Stream: stream, Seed: o.seed, Budget: o.budget}
	if !o.yes {
		job.Ask = func(x model.Fix) (bool, error) { return askFix(env, x), nil }
	}
	p := newProgress(env)
	defer p.End()
	rec, err := fix.Run(ctx, env.Env, pair, job, p)
	if err != nil {
		return wordFix(err, args)
	}
	return keptAs(conclude(env, o.typed, rec), rec, args)
}

// keptAs has the error of a fix that could not be recorded or shown say what it has changed.
func keptAs(err error, rec *app.Record, args []string) error {
	hosts := fix.KeptOn(rec.Results.Steps)
	if err == nil || len(hosts) == 0 {
		return err
	}
	return wordFix(failure.As(failure.KindOf(err), &fix.KeptError{Hosts: hosts, Err: err}), args)
}

// wordFix says what to do after an error.
func wordFix(err error, args []string) error {
	var unmounted *fix.NotMountedError
	var kept *fix.KeptError
	switch {
	case errors.As(err, &unmounted):
		return failure.Of(failure.Usage, "fix %s %s: %s has not mounted it: mount it, or name the two hosts alone to fix the network between them", args[0], args[1], args[0])
	case errors.As(err, &kept):
		return failure.Of(failure.KindOf(err), "%w; what had earned its place before is kept: linerate tune undo %s puts it back", kept.Err, strings.Join(kept.Hosts, " and "))
	}
	return err
}

func askFix(env *environment, x model.Fix) bool {
	on := x.Setting
	if x.Target != "" {
		on += " of " + x.Target
	}
	return saysYes(env, fmt.Sprintf("change %s on %s from %q to %q, measure it, and keep it if it helps?", on, x.Host, x.From, x.To))
}
