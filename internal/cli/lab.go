package cli

import (
	"context"

	"github.com/spf13/cobra"

	"linerate/internal/app/lab"
	"linerate/internal/failure"
)

func labCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Emulated networks on this machine: the papers' topologies, with faults on request",
		Long: `lab brings up networks of emulated hosts on this machine, to try linerate on, to
learn from and to test against. It needs no root and touches nothing outside the
namespaces it makes. See docs/lab.md.`,
		Example: `  linerate lab topologies
  linerate lab up cluster
  linerate lab exec client1 -- ip addr
  linerate lab fault add loss-random
  linerate lab down`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(labTopologiesCommand(env), labUpCommand(env), labDownCommand(env), labStatusCommand(env), labExecCommand(env), labRebootCommand(env), labFaultCommand(env))
	return cmd
}

// labName is the --name flag of most lab commands.
func labName(cmd *cobra.Command, env *environment, name *string) {
	cmd.Flags().StringVar(name, "name", "", "which lab, where several are up")
	_ = cmd.RegisterFlagCompletionFunc("name", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names, _ := lab.Names(env.Env) // completion can tell nobody of an error
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

func labExecCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "exec HOST -- COMMAND…",
		Short: "Run a command inside a host of a lab",
		Long: `exec runs a command inside a host, with its network, its /sys, its host name, its
core and its memory limit, and ends with its exit code.`,
		Example: `  linerate lab exec client1 -- ip addr
  linerate lab exec --name office nas1 -- bash`,
		Args: usage(cobra.MinimumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLabExec(cmd.Context(), env, name, args[0], args[1:])
		},
	}
	labName(cmd, env, &name)
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func runLabExec(ctx context.Context, env *environment, name, hostName string, argv []string) error {
	if argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return failure.Of(failure.Usage, "lab exec %s: say what to run: linerate lab exec %s -- ip addr", hostName, hostName)
	}
	code, err := lab.Exec(ctx, env.Env, lab.Program{Lab: name, Host: hostName, Argv: argv, In: env.in, Out: env.out.Stream(), Err: env.err.Stream()})
	if err == nil && code != 0 {
		return &childError{code}
	}
	return err
}
