package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/tune"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func tuneApplyCommand(env *environment) *cobra.Command {
	var o tuneOptions
	var s siteOptions
	var within string
	var waves bool
	cmd := &cobra.Command{
		Use:   "apply [HOST]",
		Short: "Make the changes of a plan, reversibly",
		Long: `apply makes the plan that tune plan shows, all of it or nothing: each original
value is on the host's disk before it is changed, and what the kernel accepted is
read back. Beside the journal lies a script undo.sh, which needs a shell and
coreutils, but no linerate.

If a change can cut you off (MTU, routes, a reset of the link, offloads), the host
undoes it by itself unless you confirm it in time; the host needs neither this
program nor its connection for that. Each change is reported as
applied (read back), effective (in force now, or after what it needs), and seen
on the wire (on a new connection to --to).

With --site and --waves apply changes many hosts of a site: one first, then growing
waves. It applies a wave, checks its paths, and confirms it before the next one begins.
At the first host that does not confirm, or whose path got worse by more than it varies
by itself, apply undoes that wave and begins no other (docs/fleet.md).`,
		Example: `  linerate tune apply nas1 --profile nfs-server --to client1
  linerate tune apply nas1 --profile nfs-server --dry-run
  linerate tune apply nas1 --set link.mtu@eth0=9000 --confirm-within 60s
  linerate tune apply nas1 --profile nfs-server --persist    and after a restart too
  linerate tune apply --site role=dtn --waves --set tcp_mtu_probing=1`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(args); err != nil {
				return err
			}
			if (s.site != "") != waves {
				return failure.Of(failure.Usage, "hosts of a site are changed in waves, and only they: give both --site and --waves, or name one host, as site:HOST")
			}
			if err := o.check(env, args); err != nil {
				return err
			}
			if err := o.checkWithin(within); err != nil {
				return err
			}
			if o.profile == "" && len(o.Typed) == 0 {
				return failure.Of(failure.Usage, "say what to apply: --profile NAME, --set SETTING=VALUE, or both; linerate tune%s shows the profile that fits", hostArgument(o.Host))
			}
			if s.site != "" {
				return runSiteApply(cmd.Context(), env, s, o)
			}
			return runApply(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	o.subjectFlags(f)
	o.setFlag(f)
	s.flags(f)
	f.BoolVar(&waves, "waves", false, "with --site: change the hosts in waves, each confirmed before the next")
	f.StringVar(&within, "confirm-within", "", "undo everything unless confirmed in this time, e.g. 60s (the default where a change can cut you off); 0 never does")
	f.BoolVar(&o.Persist, "persist", false, "write the values into the system's own files too, once they are confirmed")
	f.BoolVar(&o.dry, "dry-run", false, "print the very plan that would be made, and stop")
	return cmd
}

// checkWithin reads --confirm-within.
func (o *tuneOptions) checkWithin(text string) error {
	if text == "" {
		return nil // the plan's own default
	}
	d, err := unit.ParseTime(text)
	switch {
	case text == "0" || err == nil && d == 0:
		o.Confirm = model.NoConfirm
	case err != nil || d < 5*time.Second || d > time.Hour:
		return failure.Of(failure.Usage, "--confirm-within %q: want 5s to 1h, or 0 for no need to confirm", text)
	default:
		o.Confirm = d
	}
	return nil
}

// planDocument is what tune plan and tune apply print, with the commands that come next.
type planDocument struct {
	tune.Proposal
	confirm, undo string
	waits         string // what waits to be confirmed, if it is not all of it
	unguarded     bool   // nothing is undone by itself, as the user wanted it
}

func runApply(ctx context.Context, env *environment, o tuneOptions) error {
	if o.dry {
		return runPlan(ctx, env, o)
	}
	p := newProgress(env)
	defer p.End()
	made, err := tune.Apply(ctx, env.Env, o.Request, func(files []tune.File) { showFiles(env, files) }, p)
	if err != nil {
		return wordTune(err)
	}
	doc := planDocument{Proposal: made, unguarded: o.Confirm == model.NoConfirm, undo: "linerate tune undo" + hostArgument(o.Host), confirm: "linerate tune confirm" + hostArgument(o.Host)}
	if o.Persist {
		doc.confirm += " --persist"
	}
	if made.Partly {
		doc.waits = "the rest"
	}
	if slices.ContainsFunc(doc.Plan, func(l tune.Line) bool { return l.Host != doc.Host }) {
		doc.undo += "; linerate tune undo" + hostArgument(*o.Peer)
	}
	for i, l := range doc.Plan {
		if l.Applied != nil && l.Observed == "" {
			doc.Plan[i].Observed = "not looked at: without --to there is no connection to look at"
		}
	}
	if len(doc.Plan) == 0 {
		return printPlan(env, doc, nil)
	}
	return unsaid(doc, printPlan(env, doc, nil))
}

// showFiles shows what will be written, before anything is changed.
func showFiles(env *environment, files []tune.File) {
	if env.json {
		return
	}
	var d document.Document
	d.Add("Files that keep it over a restart:", fileBlocks(files)...)
	_ = printDocument(env, d) // the changes do not wait for a reader
	env.out.Printf("\n")
}

func printPlan(env *environment, doc planDocument, err error) error {
	return printed(env, doc, err, func() error { return printDocument(env, doc.page()) })
}

func tuneConfirmCommand(env *environment) *cobra.Command {
	var persist, dry bool
	cmd := onHost(env, &cobra.Command{
		Use:   "confirm [HOST]",
		Short: "Keep what apply changed: the host does not undo it by itself any more",
		Example: `  linerate tune confirm nas1
  linerate tune confirm nas1 --persist --dry-run    the files that it would write
  linerate tune confirm nas1 --persist              and after a restart too`,
	}, func(ctx context.Context, n reach.Name, p *progress) (tune.Confirmation, error) {
		if dry && !persist {
			return tune.Confirmation{}, failure.Of(failure.Usage, "--dry-run shows the files of --persist, which is not given")
		}
		return tune.Confirm(ctx, env.Env, n, persist, dry, p)
	}, func(n reach.Name, doc tune.Confirmation) (d document.Document) {
		if !dry {
			d = saying(fmt.Sprintf("confirmed %s: %d of its changes are in force; linerate tune undo%s restores the values from before", doc.Plan, doc.Kept, hostArgument(n)))
		}
		d.Add("", fileBlocks(doc.Files)...)
		return d
	})
	cmd.Flags().BoolVar(&persist, "persist", false, "write the values into the system's own files too")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "with --persist: show the files that it would write, and stop")
	return cmd
}

func tuneUndoCommand(env *environment) *cobra.Command {
	var r tune.UndoRequest
	var s siteOptions
	cmd := onHost(env, &cobra.Command{
		Use:   "undo [HOST]",
		Short: "Undo what linerate changed on a host, newest first",
		Long: `undo restores every value that linerate changed and removes the files that it
wrote; a second undo changes nothing. It does not touch a value that somebody else
changed since, and shows linerate's value, theirs and the original; --force restores
the original nevertheless. With --to it undoes only changes that are newer than a
checkpoint: the numbers are those of linerate tune history. On Windows itself it also
switches off the TCP statistics that a killed linerate explain --attach left on.

If the host's journal is damaged (moved, emptied or truncated), undo refuses, since
undo.sh beside it may be the last copy of the original values. --from-script restores
by that script everything that was open, and begins a new journal.`,
		Example: `  linerate tune undo nas1
  linerate tune undo nas1 --to 3
  linerate tune undo nas1 --plan tune-20260401-120000-1a2b --force
  linerate tune undo --site role=dtn --plan tune-20260401-120000-1a2b`,
	}, func(ctx context.Context, n reach.Name, p *progress) (tune.Restored, error) {
		if r.To < 0 {
			return tune.Restored{}, failure.Of(failure.Usage, "--to %d: want the number of a change, as linerate tune history lists them", r.To)
		}
		if r.FromScript && (r.To > 0 || r.Plan != "") {
			return tune.Restored{}, failure.Of(failure.Usage, "--from-script restores everything that was open: it goes with neither --to nor --plan")
		}
		doc, err := tune.Undo(ctx, env.Env, n, r, p)
		var e *tune.Error
		if errors.As(err, &e) && e.What == tune.NeverHadPlan {
			err = failure.Of(failure.Usage, "%s has no plan %q in its history: linerate tune history%s lists them", n, r.Plan, hostArgument(n))
		}
		if err != nil && len(doc.Changes)+len(doc.Notes) > 0 { // what was restored is told before what was not
			_ = printed(env, doc, nil, func() error { return printDocument(env, undoPage(n, doc)) })
		}
		return doc, err
	}, undoPage)
	one := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.check(args); err != nil {
			return err
		}
		if s.site != "" {
			return runSiteUndo(cmd.Context(), env, s, r)
		}
		return one(cmd, args)
	}
	f := cmd.Flags()
	s.flags(f)
	f.IntVar(&r.To, "to", 0, "checkpoint: restore only changes with a larger number than this")
	f.StringVar(&r.Plan, "plan", "", "restore only the changes of this plan")
	f.BoolVar(&r.Force, "force", false, "restore also what somebody else changed since")
	f.BoolVar(&r.FromScript, "from-script", false, "where the journal is damaged: restore all that was open by the undo.sh beside it")
	return cmd
}

func undoPage(n reach.Name, doc tune.Restored) document.Document {
	if len(doc.Changes) == 0 && len(doc.Notes) == 0 {
		return saying(fmt.Sprintf("nothing to undo on %s", n))
	}
	t := document.Table{Head: document.Columns("#", "")}
	for _, e := range doc.Changes {
		t.Row(strconv.Itoa(e.Seq), entryLine(e))
	}
	d := saying(doc.Notes...)
	d.Lead = append([]document.Block{t.Block()}, d.Lead...)
	return d
}

// entryLine words what became of a change.
func entryLine(e tune.Entry) string {
	name := tune.ShortName(e.Setting, e.Target)
	switch e.State {
	case tune.Undone:
		switch ours := cmp.Or(e.After, e.Wanted); {
		case e.Unwritten, e.Found != "" && (e.Found == e.Before || e.Found == e.Origin): // an earlier build does not say so
			return fmt.Sprintf("%s: is %s already, so nothing was written", name, fileWords(cmp.Or(e.Found, ours)))
		case e.Found == "":
			return fmt.Sprintf("%s: %s again", name, change(ours, e.Before))
		}
		return fmt.Sprintf("%s: %s again (somebody else had changed it; ours was %s)", name, change(e.Found, e.Before), fileWords(cmp.Or(e.After, e.Wanted)))
	case tune.Closed:
		return name + ": nothing to write: a restart of the host undid it, or it is gone with its device"
	}
	return fmt.Sprintf("%s: %s", name, e.State)
}
