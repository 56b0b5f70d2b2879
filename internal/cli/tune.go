package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/host"
	"linerate/internal/reach"
	"linerate/internal/tune/profile"
	"linerate/internal/unit"
)

// tuneOptions say what a panel or a plan is made for.
type tuneOptions struct {
	profile, mine string
	to, via, dev  string
	lineRate      string
	rtt           time.Duration
	streams       int
	set           []string
	host          host.Name
	rate          unit.BitRate     // of lineRate
	typed         []profile.Set    // of set
	peer          *host.Name       // of to
	base, own     *profile.Profile // of profile and mine; nil: not named
	confirm       time.Duration
	persist, dry  bool
}

func tuneCommand(env *environment) *cobra.Command {
	var o tuneOptions
	cmd := &cobra.Command{
		Use:   "tune [HOST]",
		Short: "Show a host's settings beside what its work wants, change them, and always get them back",
		Long: `tune HOST shows the panel: for each setting of a profile what runs, the kernel's
default, what is recommended for this host and path, what is yours, and why. It
changes nothing. Without HOST it is this machine's; hosts are named as for check
(nas1, user@nas1, lab:server1).

Without --profile the panel's profile is chosen by what the host does. A buffer is
recommended only for a path whose round trip is known: --to PEER measures it (one
connection of 1 Mbit/s for a second), --rtt states it, and a host that has mounts
knows its own. What trades data safety or security is changed only by --set with
its name. docs/tune.md walks through all of it.`,
		Example: `  linerate tune nas1                                   the panel
  linerate tune plan nas1 --profile nfs-server --to client1
  linerate tune apply nas1 --profile nfs-server --to client1
  linerate tune confirm nas1                           within the time it names
  linerate tune undo nas1                              everything, as it was
  linerate tune history nas1`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(env, args); err != nil {
				return err
			}
			return runPanel(cmd.Context(), env, o)
		},
	}
	o.subjectFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.mine, "mine", "", "profile of yours to show beside; else the one that is called mine, if there is one")
	cmd.AddCommand(tunePlanCommand(env), tuneApplyCommand(env), tuneConfirmCommand(env), tuneUndoCommand(env), tuneHistoryCommand(env))
	return cmd
}

// subjectFlags are those that a panel, a plan and an application share.
func (o *tuneOptions) subjectFlags(f *pflag.FlagSet) {
	f.StringVar(&o.profile, "profile", "", "the work the host is for; linerate profile list. A path (./p.yaml) is read as a file")
	f.StringVar(&o.to, "to", "", "the other end of the path: a host named as HOST is; its round trip and port are looked at")
	f.StringVar(&o.via, "via", "", "data address of --to, where its name leads elsewhere")
	f.DurationVar(&o.rtt, "rtt", 0, "round trip of the path without load, instead of measuring it")
	f.StringVar(&o.lineRate, "line-rate", "", "rate of the path, e.g. 10Gbit, instead of the slower port's")
	f.IntVar(&o.streams, "streams", 1, "connections that share the path: each needs a share of the buffer")
	f.StringVar(&o.dev, "dev", "", "interface that carries the data, where it cannot be told")
}

// setFlag is that of plans.
func (o *tuneOptions) setFlag(f *pflag.FlagSet) {
	f.StringArrayVar(&o.set, "set", nil, "a value of yours, `SETTING=VALUE` or SETTING@DEVICE=VALUE; stands above the profile, and without --profile alone; may be repeated")
}

// check validates what was typed.
func (o *tuneOptions) check(env *environment, args []string) error {
	var err error
	if o.host, err = tuneHost(args); err != nil {
		return err
	}
	switch {
	case o.rtt < 0 || o.rtt > 100*time.Second:
		return failure.Of(failure.Usage, "--rtt %s: want a round trip of up to 100 s, such as 16ms", o.rtt)
	case o.streams < 1 || o.streams > 1024:
		return failure.Of(failure.Usage, "--streams %d: want 1 to 1024 connections", o.streams)
	case o.via != "" && o.to == "":
		return failure.Of(failure.Usage, "--via is an address of --to, which is not given")
	}
	if o.lineRate != "" {
		if o.rate, err = unit.ParseBitRate(o.lineRate); err != nil || o.rate < unit.Kbit || o.rate > 10000*unit.Gbit {
			return failure.Of(failure.Usage, "--line-rate %q: want a rate such as 10Gbit", o.lineRate)
		}
	}
	if o.to != "" {
		n, err := reach.HostName(o.to)
		if err != nil {
			return err
		}
		o.peer = &n
	}
	if err := o.findProfiles(env); err != nil {
		return err
	}
	for _, text := range o.set {
		x, err := parseSet(text)
		if err != nil {
			return err
		}
		o.typed = append(o.typed, x)
	}
	return nil
}

func (o *tuneOptions) findProfiles(env *environment) error {
	if o.profile != "" {
		p, err := findProfile(env, o.profile)
		if err != nil {
			return err
		}
		o.base = &p
	}
	name := o.mine
	if name == "" {
		own, err := userProfiles(env)
		if err != nil || !slices.Contains(own, mineProfile) {
			return nil // none was asked for
		}
		name = mineProfile
	}
	p, err := findProfile(env, name)
	if err != nil {
		return err
	}
	o.own = &p
	return nil
}

// mineProfile is the user's profile that the panel shows without being asked.
const mineProfile = "mine"

// tuneHost is the host that was named, else this one.
func tuneHost(args []string) (host.Name, error) {
	if len(args) == 0 {
		return host.Name{Reach: host.SSH, Host: reach.Here}, nil
	}
	return reach.HostName(args[0])
}

// parseSet reads SETTING=VALUE or SETTING@DEVICE=VALUE. The setting may be
// written without what its id begins with.
func parseSet(text string) (profile.Set, error) {
	left, value, ok := strings.Cut(text, "=")
	setting, device, _ := strings.Cut(left, "@")
	setting, value = strings.TrimSpace(setting), strings.TrimSpace(value)
	if !ok || setting == "" || value == "" {
		return profile.Set{}, failure.Of(failure.Usage, "--set %q: want SETTING=VALUE, such as tcp_rmem='4096 131072 67108864'", text)
	}
	id, err := settingID(setting)
	return profile.Set{Setting: id, Device: strings.TrimSpace(device), Value: value}, err
}

// settingID finds the id of a setting of Linux by its id, the system's own name
// or the last part of either.
func settingID(name string) (string, error) {
	var found []string
	var all []string
	for _, s := range guide.All() {
		if s.OS() != "linux" && s.OS() != "any" {
			continue
		}
		native := s.Native()
		if strings.EqualFold(s.ID, name) || strings.EqualFold(s.ID, "linux."+name) {
			return s.ID, nil
		}
		all = append(all, s.ID, native, native[strings.LastIndexByte(native, '.')+1:])
		if strings.EqualFold(native, name) || strings.EqualFold(native[strings.LastIndexByte(native, '.')+1:], name) {
			found = append(found, s.ID)
		}
	}
	for _, prefix := range []string{"", "linux.", "linux.sysctl."} {
		for _, general := range guide.General(prefix + name) {
			if _, ok := guide.Find(general); ok && strings.HasPrefix(prefix+name, "linux.sysctl.") {
				return prefix + name, nil
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", failure.Of(failure.Usage, "setting %q is not known; near it are %s; linerate setting NAME shows one", name, names(conf.Closest(name, all, 3)))
	}
	return "", failure.Of(failure.Usage, "setting %q can be %s: name one of them", name, strings.Join(found, " or "))
}

func tunePlanCommand(env *environment) *cobra.Command {
	var o tuneOptions
	cmd := &cobra.Command{
		Use:   "plan [HOST]",
		Short: "Show the exact changes that apply would make, with their reasons, risks and sources; changes nothing",
		Example: `  linerate tune plan nas1 --profile nfs-server --to client1
  linerate tune plan --profile transfer-node-wan --rtt 16ms --line-rate 40Gbit
  linerate tune plan nas1 --profile nfs-server --persist      the files of --persist too
  linerate tune plan nas1 --profile nfs-server --set tcp_slow_start_after_idle=1 --json`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(env, args); err != nil {
				return err
			}
			return runPlan(cmd.Context(), env, o)
		},
	}
	o.subjectFlags(cmd.Flags())
	o.setFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.persist, "persist", false, "show the files too by which it would outlive a restart")
	return cmd
}

func runPlan(ctx context.Context, env *environment, o tuneOptions) error {
	d, err := draft(ctx, env, o)
	if err != nil {
		return err
	}
	defer d.close()
	doc, err := d.planWithFiles(ctx)
	if err != nil {
		return err
	}
	return printPlan(env, doc)
}

func runPanel(ctx context.Context, env *environment, o tuneOptions) error {
	d, err := draft(ctx, env, o)
	if err != nil {
		return err
	}
	defer d.close()
	if env.json {
		return printJSON(env, d.panel())
	}
	return printDocument(env, d.panel().page())
}
