package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/app/lab"
	"linerate/internal/failure"
	"linerate/internal/report/document"
)

func labUpCommand(env *environment) *cobra.Command {
	var o lab.UpOptions
	var serve []string
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
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Serve, err = parseServe(serve); err != nil {
				return err
			}
			return runLabUp(cmd.Context(), env, o, args[0])
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return lab.TopologyNames(), cobra.ShellCompDirectiveDefault
		},
	}
	cmd.Flags().StringVar(&o.Name, "name", "", "what to call the lab; empty is the topology's name")
	cmd.Flags().BoolVar(&o.FullRate, "full-rate", false, "the paper's link rates instead of a tenth")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of random losses and the like")
	cmd.Flags().StringArrayVar(&serve, "serve", nil, "HOST=KIND[,KIND]: start real storage servers there: nfs, smb, iscsi, ssh")
	cmd.Flags().StringSliceVar(&o.Kernels, "kernel", nil, "hosts that get a kernel of their own (User-Mode Linux)")
	cmd.Flags().StringSliceVar(&o.Devices, "device", nil, "hosts that are whole machines with emulated NICs (QEMU): to look at and to tune, too slow to measure")
	return cmd
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

func runLabUp(ctx context.Context, env *environment, o lab.UpOptions, arg string) error {
	f, err := lab.ReadTopology(arg)
	if errors.Is(err, fs.ErrNotExist) {
		return failure.Of(failure.Usage, "there is no file %s; linerate lab topologies lists what is built in, --yaml NAME prints one to start from", arg)
	}
	if err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	up, err := lab.BringUp(ctx, env.Env, p, f, o)
	if err != nil {
		return labUpError(err)
	}
	p.End()
	if env.json {
		return printJSON(env, up.Status)
	}
	return printDocument(env, labUpPage(up))
}

// labUpError names the flags by which the user can bring the lab up all the same.
func labUpError(err error) error {
	var name *lab.NameError
	var taken *lab.TakenError
	switch {
	case errors.As(err, &name):
		return failure.Of(failure.Usage, "--name %q: want letters, digits, dots and hyphens, at most 40", name.Name)
	case errors.As(err, &taken):
		return failure.Of(failure.Usage, "%w; take it down with linerate lab down --name %s, or give this one another name with --name", err, taken.Name)
	}
	return err
}

// labUpPage shows what was built and what can be done with it next.
func labUpPage(up lab.Up) document.Document {
	d := document.Document{Lead: []document.Block{{Pre: up.Drawing}}}
	for _, l := range up.LeftOut {
		d.Add("", document.Block{Text: "left out: " + l})
	}
	if len(up.Status.Servers) > 0 {
		d.Add("", labServers(up.Status).Block())
	}
	which := ""
	if up.Several {
		which = " --name " + up.Name
	}
	first := up.Flow.From[0]
	d.Add(fmt.Sprintf("Lab %s is up. Next:", up.Name), document.Block{Pre: fmt.Sprintf(
		"  linerate lab exec%s %s -- ip addr\n  linerate lab fault catalogue\n  linerate explain %s %s --load\n  linerate lab down%s",
		which, first, labRef(up.Name, first), labRef(up.Name, up.Flow.To), which)})
	return d
}

func labRef(name, host string) string { return "lab:" + name + "/" + host }

func labRebootCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "reboot HOST",
		Short: "Reboot a host that has a kernel of its own",
		Long: `reboot boots a host of kind kernel or device again, and returns when it is up.
What was set in it and not written to a file is gone, as on any machine.`,
		Example: "  linerate lab up back-to-back --kernel server1\n  linerate lab reboot server1",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := newProgress(env)
			defer p.End()
			if err := lab.Reboot(cmd.Context(), env.Env, p, name, args[0]); err != nil {
				return err
			}
			p.End()
			if env.json {
				return printJSON(env, map[string]string{"rebooted": args[0]})
			}
			return printDocument(env, saying(args[0]+" is up again."))
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
	names, err := lab.Down(ctx, env.Env, p, name, all)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, map[string][]string{"down": names})
	}
	return nil
}
