package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/app/profile"
	"linerate/internal/app/tune"
	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// tuneOptions say what a panel or a plan is made for, as it was typed.
type tuneOptions struct {
	tune.Request
	profile, mine string
	to, lineRate  string
	set           []string
	dry           bool
}

func tuneCommand(env *environment) *cobra.Command {
	var o tuneOptions
	cmd := &cobra.Command{
		Use:   "tune [HOST]",
		Short: "Show a host's settings beside those that its work needs, change them, and undo the changes",
		Long: `tune HOST shows the panel: for each setting of a profile the running value, the
kernel's default, the recommended value for this host and path, the value of your
own profile, and why. It changes nothing. Without HOST it shows this machine; hosts
are named as for check (nas1, user@nas1, lab:server1).

Without --profile tune chooses the profile by what the host does. It recommends a
buffer only for a path whose round trip is known: --to PEER measures it (one
connection of 1 Mbit/s for a second), --rtt states it, and a host that has mounts
knows its own. linerate changes a setting that trades data safety or security for speed
only if --set names it. docs/tune.md walks through all of it.`,
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
	cmd.Flags().StringVar(&o.mine, "mine", "", "your own profile, to show beside; default: the one called mine, if there is one")
	cmd.AddCommand(tunePlanCommand(env), tuneScriptCommand(env), tuneApplyCommand(env), tuneConfirmCommand(env), tuneUndoCommand(env), tuneHistoryCommand(env), tuneResumeCommand(env))
	return cmd
}

// subjectFlags are those that a panel, a plan and an application share.
func (o *tuneOptions) subjectFlags(f *pflag.FlagSet) {
	f.StringVar(&o.profile, "profile", "", "what the host is for (linerate profile list). A path (./p.yaml) is read as a file")
	f.StringVar(&o.to, "to", "", "the other end of the path: a host named as HOST is; linerate measures its round trip and reads its port")
	f.StringVar(&o.Via, "via", "", "data address of --to, if its name resolves to another one")
	durationVar(f, &o.RTT, "rtt", 0, "round trip of the path without load, instead of measuring it")
	f.StringVar(&o.lineRate, "line-rate", "", "rate of the path, e.g. 10Gbit, instead of the slower port's")
	f.IntVar(&o.Streams, "streams", 1, "connections that share the path: each needs a share of the buffer")
	f.StringVar(&o.Dev, "dev", "", "interface that carries the data, if linerate cannot tell")
}

// setFlag is that of plans.
func (o *tuneOptions) setFlag(f *pflag.FlagSet) {
	f.StringArrayVar(&o.set, "set", nil, "a value of your own, `SETTING=VALUE` or SETTING@DEVICE=VALUE; overrides the profile; without --profile the plan has only these; may be repeated")
}

// check validates what was typed.
func (o *tuneOptions) check(env *environment, args []string) error {
	var err error
	if o.Host, err = tuneHost(args); err != nil {
		return err
	}
	switch {
	case o.RTT < 0 || o.RTT > 100*time.Second:
		return failure.Of(failure.Usage, "--rtt %s: want a round trip of up to 100 s, such as 16ms", o.RTT)
	case o.Streams < 1 || o.Streams > 1024:
		return failure.Of(failure.Usage, "--streams %d: want 1 to 1024 connections", o.Streams)
	case o.Via != "" && o.to == "":
		return failure.Of(failure.Usage, "--via is an address of --to, which is not given")
	}
	if o.Via != "" {
		if _, err := reach.Via(o.Via); err != nil {
			return err
		}
	}
	if o.lineRate != "" {
		if o.Rate, err = unit.ParseBitRate(o.lineRate); err != nil || o.Rate < unit.Kbit || o.Rate > 10000*unit.Gbit {
			return failure.Of(failure.Usage, "--line-rate %q: want a rate such as 10Gbit", o.lineRate)
		}
	}
	if o.to != "" {
		n, err := reach.HostName(o.to)
		if err != nil {
			return err
		}
		o.Peer = &n
	}
	if o.profile != "" {
		p, err := profile.Find(env.Env, o.profile)
		if err != nil {
			return wordTune(err)
		}
		o.Profile = &p
	}
	if o.Mine, err = profile.Mine(env.Env, o.mine); err != nil {
		return wordTune(err)
	}
	for _, text := range o.set {
		x, err := parseSet(text)
		if err != nil {
			return err
		}
		o.Typed = append(o.Typed, x)
	}
	return nil
}

// tuneHost is the host that was named, else this one.
func tuneHost(args []string) (reach.Name, error) {
	if len(args) == 0 {
		args = []string{reach.Here}
	}
	return reach.HostName(args[0])
}

// parseSet reads SETTING=VALUE or SETTING@DEVICE=VALUE. The setting may be
// written without what its id begins with.
func parseSet(text string) (tune.Set, error) {
	left, value, ok := strings.Cut(text, "=")
	setting, device, _ := strings.Cut(left, "@")
	setting, value = strings.TrimSpace(setting), strings.TrimSpace(value)
	if !ok || setting == "" || value == "" {
		return tune.Set{}, failure.Of(failure.Usage, "--set %q: want SETTING=VALUE, such as tcp_rmem='4096 131072 67108864'", text)
	}
	id, err := settingID(setting)
	return tune.Set{Setting: id, Device: strings.TrimSpace(device), Value: value}, err
}

// settingID finds the id of a setting of Linux by its id, the system's own name
// or the last part of either; one of another system by its id alone.
func settingID(name string) (string, error) {
	var found []string
	var all []string
	for _, s := range guide.All() {
		if s.OS() != "linux" && s.OS() != "any" {
			if s.ID == name && tune.Scripted(s.OS()) {
				return s.ID, nil // whether the host has it is to be seen
			}
			if s.ID == name {
				return "", failure.Of(failure.Usage, "setting %s: hosts that run %s cannot be changed from here yet; linerate setting %s tells what is known of it", name, s.OS(), name)
			}
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
	var s siteOptions
	cmd := &cobra.Command{
		Use:   "plan [HOST]",
		Short: "Show the exact changes that apply would make, with their reasons, risks and sources; changes nothing",
		Example: `  linerate tune plan nas1 --profile nfs-server --to client1
  linerate tune plan --profile transfer-node-wan --rtt 16ms --line-rate 40Gbit
  linerate tune plan nas1 --profile nfs-server --persist      the files of --persist too
  linerate tune plan nas1 --profile nfs-server --set tcp_slow_start_after_idle=1 --json
  linerate tune plan --site role=dtn --profile transfer-node-wan --rtt 16ms --line-rate 40Gbit`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(args); err != nil {
				return err
			}
			if err := o.check(env, args); err != nil {
				return err
			}
			if s.site != "" {
				return runSitePlan(cmd.Context(), env, s, o)
			}
			return runPlan(cmd.Context(), env, o)
		},
	}
	o.subjectFlags(cmd.Flags())
	o.setFlag(cmd.Flags())
	s.flags(cmd.Flags())
	cmd.Flags().BoolVar(&o.Persist, "persist", false, "show the files too by which it would outlive a restart")
	return cmd
}

func runPlan(ctx context.Context, env *environment, o tuneOptions) error {
	p := newProgress(env)
	defer p.End()
	doc, err := tune.MakePlan(ctx, env.Env, o.Request, p)
	doc.DryRun = o.dry
	return printPlan(env, planDocument{Proposal: doc, unguarded: o.Confirm == model.NoConfirm}, err)
}

// panelDocument is what tune prints, with host, profile and peer as arguments of the next
// command.
type panelDocument struct {
	tune.Panel
	again string
}

func runPanel(ctx context.Context, env *environment, o tuneOptions) error {
	p := newProgress(env)
	defer p.End()
	panel, err := tune.MakePanel(ctx, env.Env, o.Request, p)
	doc := panelDocument{panel, hostArgument(o.Host) + " --profile " + panel.Profile}
	if o.to != "" {
		doc.again += " --to " + o.to
	}
	return printed(env, doc, err, func() error { return printDocument(env, doc.page()) })
}

// printed prints what one call of app returned: as JSON, or as text does.
func printed[T any](env *environment, doc T, err error, text func() error) error {
	switch {
	case err != nil:
		return wordTune(err)
	case env.json:
		return printJSON(env, doc)
	}
	return text()
}

// unsaid has the error of an answer that could not be printed say what was done all the same:
// exit code 1 would have it undone.
func unsaid(doc any, err error) error {
	if err == nil {
		return nil
	}
	switch d := doc.(type) {
	case planDocument:
		next := "undo with " + d.undo
		if d.Deadline != nil {
			next = "confirm with " + d.confirm + ", else the host undoes it; " + next
		}
		return failure.Of(failure.NotRestored, "%w; it is applied all the same: %s", err, next)
	case tune.Confirmation:
		if !d.DryRun {
			return failure.Of(failure.NotRestored, "%w; %s is confirmed all the same", err, d.Plan)
		}
	case tune.Restored:
		return failure.Of(failure.Failed, "%w; the changes were undone all the same (%d)", err, len(d.Changes))
	}
	return err
}

// onHost gives a command what all have that work on the journal of a host.
func onHost[T any](env *environment, cmd *cobra.Command, work func(ctx context.Context, n reach.Name, p *progress) (T, error), page func(n reach.Name, doc T) document.Document) *cobra.Command {
	cmd.Args = usage(cobra.MaximumNArgs(1))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n, err := tuneHost(args)
		if err != nil {
			return err
		}
		p := newProgress(env)
		defer p.End()
		doc, err := work(cmd.Context(), n, p)
		if err == nil {
			return unsaid(doc, printed(env, doc, nil, func() error { return printDocument(env, page(n, doc)) }))
		}
		return wordTune(err)
	}
	return cmd
}

// wordTune says what to do after an error.
func wordTune(err error) error {
	var e *tune.Error
	switch {
	case errors.Is(err, profile.ErrKept):
		return failure.Of(failure.Usage, "%w: add --replace to write over it, or give another name", err)
	case !errors.As(err, &e):
		return err
	}
	kind, on := failure.KindOf(err), e.Subject
	switch e.What {
	case tune.BadValue:
		return failure.Of(kind, "--set %s: %w", on, e.Err)
	case tune.BadDevice:
		return failure.Of(kind, "--dev: %w", e.Err)
	case tune.NoPeer:
		return failure.Of(kind, "%w; where you cannot log in to %s, state --rtt and --line-rate instead", e.Err, on)
	case tune.Unguarded:
		return failure.Of(kind, "--confirm-within 0: an MTU is raised towards %s only while each end undoes it by itself if it cuts you off; leave the option or --to away", on)
	case tune.CannotPersist:
		return failure.Of(kind, "--persist: %w", e.Err)
	case tune.Unmeasured:
		return failure.Of(kind, "--to: %w: state the path of %s with --rtt and --line-rate", e.Err, on)
	case tune.Unconfirmed:
		return failure.Of(kind, "--confirm-within 0: %w", e.Err)
	case tune.Unprivileged:
		return failure.Of(kind, "change settings of %s: %w; log in as root, allow sudo -n, or run linerate tune plan", on, e.Err)
	}
	return err
}

// hostArgument is the host as an argument of a command; empty for this one.
func hostArgument(n reach.Name) string {
	if reach.IsHere(n) {
		return ""
	}
	return " " + n.String()
}

// pathLine words the path.
func pathLine(p tune.Path) string {
	var parts []string
	if p.Peer != "" {
		parts = append(parts, "to "+p.Peer)
	}
	if p.Dev != "" {
		parts = append(parts, "by "+p.Dev)
	}
	where := strings.Join(parts, " ")
	rate, rtt := "rate not known", "round trip not known (--to PEER measures it, --rtt states it)"
	if p.Stated {
		rtt = "round trip not known (--rtt states it)"
	}
	if p.RateBPS != nil {
		rate = unit.BitRate(*p.RateBPS).String() + inBrackets(p.RateFrom)
	}
	if known := p.RoundTrip(); known != "" {
		rtt = "RTT " + known + inBrackets(p.RTTFrom)
	}
	return strings.TrimPrefix(where+": "+rate+", "+rtt, ": ")
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// names is a list for people: "a, b and c".
func names(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
