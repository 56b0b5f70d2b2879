package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/app/demo"
)

func demoCommand(env *environment) *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The whole loop on two emulated hosts: look, find the limiter, fix it, prove the gain, undo",
		Long: `demo builds two emulated hosts joined by one link, injects one fault without
telling the diagnosis which, and runs the loop: it reads both hosts, computes
the ceiling, runs TCP between them, names the limiter from evidence, applies the
one fix, proves the gain with interleaved pairs, undoes the fix, writes a report
and removes the hosts. It takes less than a minute, changes nothing outside the
namespaces that it makes, and needs no root (an ordinary user's hosts live in a
user namespace).

Faults:
` + faultList(),
		Example: `  linerate demo                      draw one that a setting cures
  linerate demo --fault loss         something only an operator can mend
  linerate demo --fault none --json  a healthy path`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), env, o) },
	}
	cmd.Flags().StringVar(&o.Fault, "fault", "", "what to put wrong; empty draws a curable one")
	cmd.Flags().BoolVar(&o.NoProof, "no-proof", false, "stop at the verdict: change nothing, prove nothing")
	cmd.Flags().BoolVar(&o.Discard, "discard", false, "let the sink drop what it receives in the kernel, as no real receiver does; results are marked")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 0, "seed of the drawing and of the order of the runs; 0 draws one")
	return cmd
}

func faultList() string {
	var b strings.Builder
	for _, f := range demo.Faults() {
		fmt.Fprintf(&b, "  %-10s  %s\n", f.ID, f.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}

func runDemo(ctx context.Context, env *environment, o demo.Options) error {
	p := newProgress(env)
	defer p.End()
	o.Again = func(fault string, seed uint64) demo.Process {
		return demo.Process{Args: demoArgs(env, o, fault, seed), In: env.in, Out: env.out.Stream(), Err: env.err.Stream()}
	}
	d, err := demo.Run(ctx, env.Env, o, p)
	switch {
	case err != nil:
		return err
	case d.Record != nil:
		return conclude(env, fmt.Sprintf("demo --fault %s --seed %d", d.Fault, d.Seed), d.Record)
	case d.Code != ExitOK:
		return &childError{d.Code} // it has said why
	}
	return nil
}

// demoArgs ask for the same demo once more.
func demoArgs(env *environment, o demo.Options, fault string, seed uint64) []string {
	args := []string{"demo", "--fault", fault, "--seed", strconv.FormatUint(seed, 10)}
	if o.NoProof {
		args = append(args, "--no-proof")
	}
	if o.Discard {
		args = append(args, "--discard")
	}
	if env.json {
		args = append(args, "--json")
	}
	return args
}
