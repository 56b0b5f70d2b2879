package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/report"
	"linerate/internal/tune"
	"linerate/internal/unit"
)

func tuneApplyCommand(env *environment) *cobra.Command {
	var o tuneOptions
	var within string
	cmd := &cobra.Command{
		Use:   "apply [HOST]",
		Short: "Make the changes of a plan, reversibly",
		Long: `apply makes the plan that tune plan shows, all of it or nothing: each original
value is on the host's disk before it is changed, and what the kernel accepted is
read back. Beside the journal lies a script undo.sh, which needs a shell and
coreutils and no linerate to be installed.

Changes that can cut you off (MTU, routes, a reset of the link, offloads) are
undone by the host itself unless you confirm them in time; the host does that
without this program and without its connection. Each change is reported as
applied (read back), effective (in force now, or after what it needs), and seen
on the wire (on a new connection to --to).`,
		Example: `  linerate tune apply nas1 --profile nfs-server --to client1
  linerate tune apply nas1 --profile nfs-server --dry-run
  linerate tune apply nas1 --set link.mtu@eth0=9000 --confirm-within 60s
  linerate tune apply nas1 --profile nfs-server --persist    and after a restart too`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(env, args); err != nil {
				return err
			}
			if err := o.checkWithin(within); err != nil {
				return err
			}
			if o.profile == "" && len(o.typed) == 0 {
				return failure.Of(failure.Usage, "say what to apply: --profile NAME, --set SETTING=VALUE, or both; linerate tune%s shows the profile that fits", hostArgument(o.host))
			}
			return runApply(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	o.subjectFlags(f)
	o.setFlag(f)
	f.StringVar(&within, "confirm-within", "", "undo everything unless confirmed in this time, e.g. 60s (the default where a change can cut you off); 0 never does")
	f.BoolVar(&o.persist, "persist", false, "write the values into the system's own files too, once they are confirmed")
	f.BoolVar(&o.dry, "dry-run", false, "print the very plan that would be made, and stop")
	return cmd
}

// checkWithin reads --confirm-within.
func (o *tuneOptions) checkWithin(text string) error {
	if text == "" {
		return nil // the plan's own default
	}
	d, err := time.ParseDuration(text)
	switch {
	case text == "0" || err == nil && d == 0:
		o.confirm = model.NoConfirm
	case err != nil || d < 5*time.Second || d > time.Hour:
		return failure.Of(failure.Usage, "--confirm-within %q: want 5s to 1h, or 0 for no need to confirm", text)
	default:
		o.confirm = d
	}
	return nil
}

func runApply(ctx context.Context, env *environment, o tuneOptions) error {
	d, err := draft(ctx, env, o)
	if err != nil {
		return err
	}
	defer d.close()
	doc, err := d.planWithFiles(ctx)
	if err != nil {
		return err
	}
	if len(doc.Plan) == 0 || o.dry {
		doc.DryRun = o.dry
		return printPlan(env, doc)
	}
	if err := d.mayChange(); err != nil {
		return err
	}
	if len(doc.Files) > 0 && !env.json { // before anything is written
		fmt.Fprintf(env.out, "Files that keep it over a restart:\n")
		writeFiles(env.out, doc.Files)
		fmt.Fprintln(env.out)
	}
	made, err := d.apply(ctx)
	if err != nil {
		return err
	}
	d.report(ctx, env, &doc, made)
	if o.persist {
		if doc.Written, err = made.persist(ctx); err != nil {
			_ = printPlan(env, doc) // what was done is told before what was not
			return fmt.Errorf("make it outlive a restart: %w; the running values are changed: %s restores them", err, doc.undo)
		}
	}
	return printPlan(env, doc)
}

// mayChange refuses where the agents are not root.
func (d *drafted) mayChange() error {
	for _, e := range d.ends() {
		if uid := e.agent.Hello().UID; uid > 0 {
			return failure.Of(failure.Failed, "change settings of %s: it takes root, and we are user %d there; log in as root, allow sudo -n, or run linerate tune plan", e.name, uid)
		}
	}
	return nil
}

func printPlan(env *environment, doc planDocument) error {
	if env.json {
		return printJSON(env, doc)
	}
	return printDocument(env, doc.page())
}

// afterFailure tells whether what failed left anything behind.
func afterFailure(ctx context.Context, agent changeable, plan string, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	open, err := agent.OpenJournal(ctx)
	if err != nil {
		return failure.Of(failure.NotRestored, "%w; whether anything is left cannot be told: %w; look with linerate tune history", cause, err)
	}
	var left []string
	for _, e := range open {
		if plan == "" || e.Plan == plan {
			left = append(left, fmt.Sprintf("%s (was %q)", e.Setting, e.Before))
		}
	}
	if len(left) == 0 {
		return failure.Of(failure.Failed, "%w", cause)
	}
	return failure.Of(failure.NotRestored, "%w; still changed: %s; linerate tune undo puts them back", cause, strings.Join(left, ", "))
}

// report fills in what became of each change, and what a new connection to the
// peer shows of it.
func (d *drafted) report(ctx context.Context, env *environment, doc *planDocument, made *application) {
	doc.ID, doc.Notes = made.id(), made.notes
	if !made.deadline.IsZero() {
		doc.Deadline = &made.deadline
		doc.confirm = "linerate tune confirm" + hostArgument(d.o.host)
		if d.o.persist {
			doc.confirm += " --persist"
		}
		if len(made.made) > 1 {
			doc.waits = "the rest"
		}
	}
	doc.undo = "linerate tune undo" + hostArgument(d.o.host)
	if d.far != nil {
		doc.undo += "; linerate tune undo" + hostArgument(*d.o.peer)
	}
	seen := d.observe(ctx, env)
	for i := range doc.Plan {
		l := &doc.Plan[i]
		for _, c := range made.outcomes[l.Host] {
			if c.Setting == l.Setting && c.Target == l.Target {
				l.Applied, l.Effective, l.Observed = &c.Applied, c.Effective, c.Observed
				if l.Observed == "" {
					l.Observed = seen(l.Setting)
				}
			}
		}
	}
}

// observe opens a connection to the peer and returns what it shows of a
// setting.
func (d *drafted) observe(ctx context.Context, env *environment) func(setting string) string {
	none := func(why string) func(string) string { return func(string) string { return "not looked at: " + why } }
	if d.peer == nil {
		return none("without --to there is no connection to look at")
	}
	p := newProgress(env)
	defer p.End()
	_, c, err := d.trickle(ctx, p)
	if err != nil {
		return none(firstLine(err))
	}
	return func(setting string) string { return onTheWire(setting, c, d.o.to) }
}

// tcpi_options of include/uapi/linux/tcp.h.
const (
	optionTimestamps = 1
	optionSACK       = 2
	optionWScale     = 4
)

// onTheWire words what a new connection shows of a setting.
func onTheWire(setting string, c model.Conn, peer string) string {
	conn := "a new connection to " + peer
	has := func(bit uint8, what string) string {
		if c.Options&bit != 0 {
			return conn + " uses " + what
		}
		return conn + " does not use " + what
	}
	switch setting {
	case "linux.link.mtu":
		return fmt.Sprintf("%s sends segments of %d bytes", conn, c.SndMSS)
	case "linux.sysctl.net.ipv4.tcp_rmem":
		return fmt.Sprintf("%s can offer a window of up to %s (scale %d)", conn, unit.Bytes(65535<<c.RcvWScale), c.RcvWScale)
	case "linux.sysctl.net.ipv4.tcp_congestion_control":
		return conn + " uses " + c.CC
	case "linux.sysctl.net.ipv4.tcp_timestamps":
		return has(optionTimestamps, "timestamps")
	case "linux.sysctl.net.ipv4.tcp_sack":
		return has(optionSACK, "selective acknowledgements")
	case "linux.sysctl.net.ipv4.tcp_window_scaling":
		return has(optionWScale, "window scaling")
	}
	return "not seen: a connection at rest does not show it"
}

// hostArgument is the host as an argument of a command; empty for this one.
func hostArgument(n host.Name) string {
	if n.Reach != host.Lab && n.Host == reach.Here && n.User == "" {
		return ""
	}
	return " " + n.String()
}

// changing are the commands that work on a host's journal.
func changing(ctx context.Context, env *environment, n host.Name, work func(c *host.Client) error) (err error) {
	p := newProgress(env)
	defer p.End()
	c, err := env.Reach(p).Dial(ctx, n)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := c.Close(); err == nil && cerr != nil {
			err = cerr
		}
	}()
	return work(c)
}

func tuneConfirmCommand(env *environment) *cobra.Command {
	var persist, dry bool
	cmd := &cobra.Command{
		Use:   "confirm [HOST]",
		Short: "Keep what apply changed: the host does not undo it by itself any more",
		Example: `  linerate tune confirm nas1
  linerate tune confirm nas1 --persist --dry-run    the files that it would write
  linerate tune confirm nas1 --persist              and after a restart too`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := tuneHost(args)
			if err != nil {
				return err
			}
			if dry && !persist {
				return failure.Of(failure.Usage, "--dry-run shows the files of --persist, which is not given")
			}
			return changing(cmd.Context(), env, n, func(c *host.Client) error { return confirm(cmd.Context(), env, n, c, persist, dry) })
		},
	}
	cmd.Flags().BoolVar(&persist, "persist", false, "write the values into the system's own files too")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "with --persist: show the files that it would write, and stop")
	return cmd
}

// confirmation is what tune confirm prints with --json.
type confirmation struct {
	V      int        `json:"v"`
	Host   string     `json:"host"`
	Plan   string     `json:"plan_id"`
	Kept   int        `json:"kept"` // changes of the plan that are in force
	DryRun bool       `json:"dry_run,omitempty"`
	Files  []fileView `json:"files"`
}

func confirm(ctx context.Context, env *environment, n host.Name, c *host.Client, persist, dry bool) error {
	plan, err := toConfirm(ctx, c)
	if err != nil {
		return err
	}
	if plan == "" {
		return failure.Of(failure.Nothing, "nothing waits to be confirmed on %s, and no change of linerate's is in force there", n)
	}
	if !dry {
		if err := c.Confirm(ctx, plan); err != nil {
			return err
		}
	}
	doc := confirmation{V: 1, Host: n.String(), Plan: plan, DryRun: dry, Files: []fileView{}}
	open, err := c.OpenJournal(ctx)
	if err != nil {
		return err
	}
	for _, e := range open {
		if e.Plan == plan {
			doc.Kept++
		}
	}
	if persist {
		files, err := c.Persist(ctx, plan, dry)
		if err != nil {
			return fmt.Errorf("make %s outlive a restart: %w", plan, err)
		}
		doc.Files = fileViews(n.String(), files)
	}
	if env.json {
		return printJSON(env, doc)
	}
	if !dry {
		paragraph(env.out, "", fmt.Sprintf("confirmed %s: %d of its changes are in force; linerate tune undo%s restores the values from before", plan, doc.Kept, hostArgument(n)), env.width)
	}
	writeFiles(env.out, doc.Files)
	return nil
}

// toConfirm is the plan that waits, else the newest that there was: the host
// says what became of it.
func toConfirm(ctx context.Context, c *host.Client) (string, error) {
	w, ok, err := c.Waiting(ctx)
	if err != nil || ok {
		return w.Plan, err
	}
	all, err := c.History(ctx)
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[len(all)-1].Plan, nil
}

func tuneUndoCommand(env *environment) *cobra.Command {
	var r tune.UndoRequest
	cmd := &cobra.Command{
		Use:   "undo [HOST]",
		Short: "Put back what linerate changed on a host, newest first",
		Long: `undo restores every value that linerate changed and removes the files that it
wrote; doing it twice is doing it once. A value that somebody else changed since
is left alone and shown: ours, theirs and the original; --force restores it all
the same. With --to only what is newer than a checkpoint is restored: the numbers
are those of linerate tune history.`,
		Example: `  linerate tune undo nas1
  linerate tune undo nas1 --to 3
  linerate tune undo nas1 --plan tune-20260401-120000-1a2b --force`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := tuneHost(args)
			if err != nil {
				return err
			}
			if r.To < 0 {
				return failure.Of(failure.Usage, "--to %d: want the number of a change, as linerate tune history lists them", r.To)
			}
			return changing(cmd.Context(), env, n, func(c *host.Client) error { return undo(cmd.Context(), env, n, c, r) })
		},
	}
	f := cmd.Flags()
	f.IntVar(&r.To, "to", 0, "checkpoint: restore only changes with a larger number than this")
	f.StringVar(&r.Plan, "plan", "", "restore only the changes of this plan")
	f.BoolVar(&r.Force, "force", false, "restore also what somebody else changed since")
	return cmd
}

// undone is what tune undo prints with --json.
type undone struct {
	V       int          `json:"v"`
	Host    string       `json:"host"`
	Changes []tune.Entry `json:"changes"`
	Notes   []string     `json:"notes"`
}

func undo(ctx context.Context, env *environment, n host.Name, c *host.Client, r tune.UndoRequest) error {
	res, err := c.UndoWith(ctx, r)
	if err != nil {
		return afterFailure(ctx, c, r.Plan, err)
	}
	if len(res.Entries) == 0 && r.Plan != "" {
		if err := planKnown(ctx, c, n, r.Plan); err != nil {
			return err
		}
	}
	doc := undone{V: 1, Host: n.String(), Changes: res.Entries, Notes: res.Notes}
	if doc.Changes == nil {
		doc.Changes = []tune.Entry{}
	}
	if doc.Notes == nil {
		doc.Notes = []string{}
	}
	if env.json {
		return printJSON(env, doc)
	}
	if len(doc.Changes) == 0 {
		fmt.Fprintf(env.out, "nothing to undo on %s\n", n)
	}
	for _, e := range doc.Changes {
		fmt.Fprintln(env.out, report.Printable(entryLine(e)))
	}
	for _, note := range doc.Notes {
		paragraph(env.out, "", report.Printable(note), env.width)
	}
	return nil
}

// planKnown refuses a plan that the host never had: who mistypes its name must
// not believe that it is undone.
func planKnown(ctx context.Context, c *host.Client, n host.Name, plan string) error {
	all, err := c.History(ctx)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Plan == plan {
			return nil
		}
	}
	return failure.Of(failure.Usage, "%s has no plan %q in its history: linerate tune history%s lists them", n, plan, hostArgument(n))
}

// entryLine words what became of a change.
func entryLine(e tune.Entry) string {
	name := shortName(e.Setting, e.Target)
	switch e.State {
	case tune.Undone:
		return fmt.Sprintf("%3d  %s: %s again", e.Seq, name, change(e.After, e.Before))
	case tune.Closed:
		return fmt.Sprintf("%3d  %s: nothing to write: a restart of the host undid it, or it is gone with its device", e.Seq, name)
	}
	return fmt.Sprintf("%3d  %s: %s", e.Seq, name, e.State)
}
