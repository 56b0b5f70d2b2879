package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/lab"
	"linerate/internal/lab/topology"
)

type labUpOptions struct {
	name     string
	fullRate bool
	seed     uint64
	serve    []string
	kernels  []string
	devices  []string
}

func labUpCommand(env *environment) *cobra.Command {
	var o labUpOptions
	cmd := &cobra.Command{
		Use:   "up TOPOLOGY|FILE.yaml",
		Short: "Bring a network of emulated hosts up",
		Long: `up builds the network and returns; a process of its own keeps it until
linerate lab down. Link rates are a tenth of the paper's unless --full-rate is
given: a 10 Gbit/s link in software takes a core.`,
		Example: `  linerate lab up cluster
  linerate lab up ./mine.yaml --name office
  linerate lab up nas --serve nas1=nfs,smb
  linerate lab up back-to-back --kernel client1,server1
  linerate lab up wan-16ms --full-rate`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runLabUp(cmd.Context(), env, o, args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return topology.Names(), cobra.ShellCompDirectiveDefault
		},
	}
	cmd.Flags().StringVar(&o.name, "name", "", "what to call the lab; empty is the topology's name")
	cmd.Flags().BoolVar(&o.fullRate, "full-rate", false, "the paper's link rates instead of a tenth")
	cmd.Flags().Uint64Var(&o.seed, "seed", 1, "seed of random losses and the like")
	cmd.Flags().StringArrayVar(&o.serve, "serve", nil, "HOST=KIND[,KIND]: start real storage servers there: nfs, smb, iscsi, ssh")
	cmd.Flags().StringSliceVar(&o.kernels, "kernel", nil, "hosts that get a kernel of their own (User-Mode Linux)")
	cmd.Flags().StringSliceVar(&o.devices, "device", nil, "hosts that are whole machines with emulated NICs (QEMU): to look at and to tune, too slow to measure")
	return cmd
}

func (o labUpOptions) kinds() map[string]topology.Kind {
	out := map[string]topology.Kind{}
	for _, h := range o.kernels {
		out[h] = topology.Kernel
	}
	for _, h := range o.devices {
		out[h] = topology.Device
	}
	return out
}

// parseServe reads --serve: hosts with their kinds of servers.
func parseServe(args []string) (map[string][]string, error) {
	out := map[string][]string{}
	for _, a := range args {
		name, kinds, ok := strings.Cut(a, "=")
		if !ok || name == "" || kinds == "" {
			return nil, failure.Of(failure.Usage, "--serve %q: want HOST=KIND, such as nas1=nfs,smb", a)
		}
		out[name] = append(out[name], strings.Split(kinds, ",")...)
	}
	return out, nil
}

func runLabUp(ctx context.Context, env *environment, o labUpOptions, arg string) error {
	file, yaml, t, err := readTopology(arg)
	if err != nil {
		return err
	}
	if t, err = t.WithKinds(o.kinds()); err != nil {
		return failure.As(failure.Usage, err)
	}
	serve, err := parseServe(o.serve)
	if err != nil {
		return err
	}
	if t, err = t.Serve(serve); err != nil {
		return failure.As(failure.Usage, err)
	}
	if o.name == "" {
		o.name = t.Name
	}
	if err := checkLabName(o.name); err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	opts, err := app.Sweep(ctx, env.Env, p)
	if err != nil {
		return err
	}
	if names, err := lab.Names(opts.StateDir); err == nil && slices.Contains(names, o.name) {
		return failure.Of(failure.Usage, "a lab named %s is up already; take it down with linerate lab down --name %s, or give this one another name with --name", o.name, o.name)
	}
	order := lab.Order{Name: o.name, File: file, YAML: yaml, FullRate: o.fullRate, Seed: o.seed, Serve: serve, Kinds: o.kinds()}
	argv := append(slices.Clone(env.Self), "lab-keep")
	if err := lab.Keep(ctx, argv, order, func(step string) { p.Say("%s", step) }); err != nil {
		return fmt.Errorf("lab %s did not come up: %w", o.name, err)
	}
	c, err := lab.Connect(opts.StateDir, o.name)
	if err != nil {
		return err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	p.End()
	if env.json {
		return printJSON(env, s)
	}
	fmt.Fprintf(env.out, "%s\n", topology.Text(t.Scaled(o.fullRate)))
	for _, l := range s.LeftOut {
		fmt.Fprintf(env.out, "left out: %s\n", l)
	}
	if err := printServers(env.out, s); err != nil {
		return err
	}
	first := s.Flow.From[0]
	which := ""
	if names, err := lab.Names(opts.StateDir); err == nil && len(names) > 1 {
		which = " --name " + o.name
	}
	fmt.Fprintf(env.out, "Lab %s is up. Next:\n  linerate lab exec%s %s -- ip addr\n  linerate lab fault catalogue\n  linerate explain %s %s --load\n  linerate lab down%s\n",
		o.name, which, first, labRef(o.name, first), labRef(o.name, s.Flow.To), which)
	return nil
}

func labRef(name, host string) string { return "lab:" + name + "/" + host }

// readTopology takes a built-in by its name or a file by its path.
func readTopology(arg string) (file string, yaml []byte, t topology.Topology, err error) {
	if strings.ContainsAny(arg, "/.") {
		yaml, err = os.ReadFile(arg)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil, t, failure.Of(failure.Usage, "there is no file %s; linerate lab topologies lists what is built in, --yaml NAME prints one to start from", arg)
		}
		if err != nil {
			return "", nil, t, fmt.Errorf("read topology: %w", err)
		}
		file = filepath.Base(arg)
	} else {
		if yaml, err = topology.Source(arg); err != nil {
			return "", nil, t, failure.As(failure.Usage, err)
		}
		file = arg + ".yaml"
	}
	if t, err = topology.Parse(file, yaml); err != nil {
		return "", nil, t, failure.As(failure.Usage, err)
	}
	return file, yaml, t, nil
}

func labRebootCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "reboot HOST",
		Short: "Boot a host that has a kernel of its own again",
		Long: `reboot boots a host of kind kernel or device again, and returns when it is up.
What was set in it and not written to a file is gone, as on any machine.`,
		Example: "  linerate lab up back-to-back --kernel server1\n  linerate lab reboot server1",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := env.Reach(nil).Lab(name)
			if err != nil {
				return err
			}
			p := newProgress(env)
			defer p.End()
			p.Say("rebooting %s", args[0])
			if err := c.Reboot(cmd.Context(), args[0]); err != nil {
				return err
			}
			p.End()
			if env.json {
				return printJSON(env, map[string]string{"rebooted": args[0]})
			}
			fmt.Fprintf(env.out, "%s is up again.\n", args[0])
			return nil
		},
	}
	labName(cmd, env, &name)
	return cmd
}

func labDownCommand(env *environment) *cobra.Command {
	var name string
	var all bool
	cmd := &cobra.Command{
		Use:     "down",
		Short:   "Take a lab down, and remove what killed ones have left",
		Example: "  linerate lab down\n  linerate lab down --name office\n  linerate lab down --all",
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLabDown(cmd.Context(), env, name, all) },
	}
	labName(cmd, env, &name)
	cmd.Flags().BoolVar(&all, "all", false, "all labs of this user")
	return cmd
}

func runLabDown(ctx context.Context, env *environment, name string, all bool) error {
	p := newProgress(env)
	defer p.End()
	opts, err := app.Sweep(ctx, env.Env, p)
	if err != nil {
		return err
	}
	names, err := lab.Names(opts.StateDir)
	if err != nil {
		return err
	}
	if !all {
		c, err := env.Reach(nil).Lab(name)
		if err != nil {
			return err
		}
		names = []string{c.Name}
	}
	if len(names) == 0 {
		return failure.As(failure.Nothing, lab.ErrNone)
	}
	for _, n := range names {
		c, err := lab.Connect(opts.StateDir, n)
		if err != nil {
			return err
		}
		if err := c.Down(ctx); err != nil {
			return fmt.Errorf("take lab %s down: %w", n, err)
		}
		p.Say("lab %s is down", n)
	}
	if env.json {
		return printJSON(env, map[string][]string{"down": names})
	}
	return nil
}

// passedSignals are those that a command inside a lab gets instead of us.
func passedSignals() (<-chan os.Signal, func()) {
	sig := make(chan os.Signal, 8)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return sig, func() { signal.Stop(sig) }
}
