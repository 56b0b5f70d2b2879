package cli

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/lab"
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
  linerate lab fault add loss
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
		dir, err := lab.StateDir(env.Getenv, os.Geteuid(), os.TempDir())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := lab.Names(dir) // completion has nobody to tell
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
	c, err := env.Reach(nil).Lab(name)
	if err != nil {
		return err
	}
	enter, err := c.Enter(ctx, hostName)
	if err != nil {
		return failure.As(failure.Usage, err)
	}
	need, err := lab.NeedUserNS()
	if err != nil {
		return err
	}
	if !need {
		return kernel.Replace(append(enter, argv...), os.Environ())
	}
	return execThroughKeeper(ctx, env, c, hostName, argv)
}

func execThroughKeeper(ctx context.Context, env *environment, c *lab.Client, hostName string, argv []string) error {
	in, ok1 := env.in.(*os.File)
	out, ok2 := env.out.(*os.File)
	errs, ok3 := env.err.(*os.File)
	if !ok1 || !ok2 || !ok3 {
		return errors.New("lab exec: standard streams are no files")
	}
	sig, stop := passedSignals()
	defer stop()
	code, err := c.Exec(context.WithoutCancel(ctx), hostName, argv, in, out, errs, sig)
	switch {
	case err != nil:
		return err
	case code != 0:
		return &childError{code}
	}
	return nil
}

// checkLabName checks a name that a user gives a lab.
func checkLabName(name string) error {
	n, err := host.ParseName("lab:" + name + "/h")
	if err != nil || n.Lab != name || len(name) > 40 {
		return failure.Of(failure.Usage, "--name %q: want letters, digits, dots and hyphens, at most 40", name)
	}
	return nil
}
