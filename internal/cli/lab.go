package cli

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

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
		dir, err := lab.StateDir(env.getenv, os.Geteuid(), os.TempDir())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := lab.Names(dir) // completion has nobody to tell
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// findLab reaches the keeper of the lab with this name, or of the only one.
func findLab(env *environment, name string) (*lab.Client, error) {
	dir, err := lab.StateDir(env.getenv, os.Geteuid(), os.TempDir())
	if err != nil {
		return nil, err
	}
	c, err := lab.Connect(dir, name)
	if errors.Is(err, lab.ErrNone) {
		return nil, &exitError{ExitNothing, err}
	}
	if err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	return c, nil
}

// labHost is how an agent gets to a host of a lab that is up.
func labHost(ctx context.Context, env *environment, n host.Name) (host.Endpoint, error) {
	c, err := findLab(env, n.Lab)
	if err != nil {
		return host.Endpoint{}, err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return host.Endpoint{}, err
	}
	h, err := hostOf(s, n.Host)
	if err != nil {
		return host.Endpoint{}, err
	}
	data, err := dataAddress(h)
	if err != nil {
		return host.Endpoint{}, err
	}
	argv := append(slices.Clone(env.self), "lab", "exec", "--name", c.Name, n.Host, "--")
	self := env.self
	if len(h.Program) > 0 {
		self = h.Program
	}
	return host.Endpoint{Name: n.Host, Argv: argv, Self: self, Data: data, StateDir: h.StateDir}, nil
}

func hostOf(s lab.Status, name string) (lab.HostStatus, error) {
	var names []string
	for _, h := range s.Hosts {
		if h.Name == name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return lab.HostStatus{}, exit(ExitUsage, "lab %s has no host %q; there are %v", s.Name, name, names)
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
		return exit(ExitUsage, "lab exec %s: say what to run: linerate lab exec %s -- ip addr", hostName, hostName)
	}
	c, err := findLab(env, name)
	if err != nil {
		return err
	}
	enter, err := c.Enter(ctx, hostName)
	if err != nil {
		return &exitError{ExitUsage, err}
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
	if err != nil || code != 0 {
		return &exitError{code, err}
	}
	return nil
}

// checkLabName checks a name that a user gives a lab.
func checkLabName(name string) error {
	n, err := host.ParseName("lab:" + name + "/h")
	if err != nil || n.Lab != name || len(name) > 40 {
		return exit(ExitUsage, "--name %q: want letters, digits, dots and hyphens, at most 40", name)
	}
	return nil
}
