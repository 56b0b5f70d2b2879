package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"linerate/internal/lab"
	"linerate/internal/lab/topology"
)

type labUpOptions struct {
	name     string
	fullRate bool
	seed     uint64
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
	return cmd
}

func runLabUp(ctx context.Context, env *environment, o labUpOptions, arg string) error {
	file, yaml, t, err := readTopology(arg)
	if err != nil {
		return err
	}
	if o.name == "" {
		o.name = t.Name
	}
	if err := checkLabName(o.name); err != nil {
		return err
	}
	p := newProgress(env)
	defer p.end()
	opts, err := sweep(ctx, env, p)
	if err != nil {
		return err
	}
	if names, err := lab.Names(opts.StateDir); err == nil && slices.Contains(names, o.name) {
		return exit(ExitUsage, "a lab named %s is up already; take it down with linerate lab down --name %s, or give this one another name with --name", o.name, o.name)
	}
	order := lab.Order{Name: o.name, File: file, YAML: yaml, FullRate: o.fullRate, Seed: o.seed}
	argv := append(slices.Clone(env.self), "lab-keep")
	if err := lab.Keep(ctx, argv, order, func(step string) { p.say("%s", step) }); err != nil {
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
	p.end()
	if env.json {
		return printJSON(env, s)
	}
	fmt.Fprintf(env.out, "%s\n", topology.Text(t.Scaled(o.fullRate)))
	for _, l := range s.LeftOut {
		fmt.Fprintf(env.out, "left out: %s\n", l)
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
			return "", nil, t, exit(ExitUsage, "there is no file %s; linerate lab topologies lists what is built in, --yaml NAME prints one to start from", arg)
		}
		if err != nil {
			return "", nil, t, fmt.Errorf("read topology: %w", err)
		}
		file = filepath.Base(arg)
	} else {
		if yaml, err = topology.Source(arg); err != nil {
			return "", nil, t, &exitError{ExitUsage, err}
		}
		file = arg + ".yaml"
	}
	if t, err = topology.Parse(file, yaml); err != nil {
		return "", nil, t, &exitError{ExitUsage, err}
	}
	for _, h := range t.Hosts {
		if h.Kind != topology.Namespace {
			return "", nil, t, exit(ExitUsage, "%s:%d: host %s: %s hosts cannot be built yet; use kind: namespace", file, h.Line, h.Name, h.Kind)
		}
	}
	return file, yaml, t, nil
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
	defer p.end()
	opts, err := sweep(ctx, env, p)
	if err != nil {
		return err
	}
	names, err := lab.Names(opts.StateDir)
	if err != nil {
		return err
	}
	if !all {
		c, err := findLab(env, name)
		if err != nil {
			return err
		}
		names = []string{c.Name}
	}
	if len(names) == 0 {
		return &exitError{ExitNothing, lab.ErrNone}
	}
	for _, n := range names {
		c, err := lab.Connect(opts.StateDir, n)
		if err != nil {
			return err
		}
		if err := c.Down(ctx); err != nil {
			return fmt.Errorf("take lab %s down: %w", n, err)
		}
		p.say("lab %s is down", n)
	}
	if env.json {
		return printJSON(env, map[string][]string{"down": names})
	}
	return nil
}

func dataAddress(h lab.HostStatus) ([]netip.Addr, error) {
	a, err := netip.ParseAddr(h.Data)
	if err != nil {
		return nil, fmt.Errorf("data address of %s: %w", h.Name, err)
	}
	return []netip.Addr{a}, nil
}

// passedSignals are those that a command inside a lab gets instead of us.
func passedSignals() (<-chan os.Signal, func()) {
	sig := make(chan os.Signal, 8)
	signal.Notify(sig, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return sig, func() { signal.Stop(sig) }
}
