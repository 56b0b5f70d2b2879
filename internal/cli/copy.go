package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/copy"
	"linerate/internal/failure"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// copyFlags is the command line of copy.
type copyFlags struct {
	copy.Options
	verify, direct string
	resume, spread string
	dryRun, check  bool
}

func copyCommand(env *environment) *cobra.Command {
	var f copyFlags
	cmd := &cobra.Command{
		Use:   "copy SRC... DST",
		Short: "Copy files and trees, lose nothing, and say what limited the copy",
		Long: `copy copies files and trees between paths of this host and its mounts, with many
requests in flight. It keeps mode, times in ns, symlinks, hard links, holes, extended
attributes; and as root owners, ACLs, devices. What could not be kept is counted, named
and said by exit code 6.

A '/' at the end of SRC means what rsync means by it: of SRC/ what it holds comes to lie
in DST, SRC itself comes to lie at DST/SRC. Nobody ever sees half a file under its name.
Files of the same size and time are taken to be the same. The same command again does
what is left.

HOST:/path is a path on another host, which ssh leads to. linerate takes a part of
itself there for the time of the copy; nothing is installed.
Its data go by one port, encrypted; where that cannot be reached the other end dials.

--spread copies several sources to several targets: each file comes to lie at one of the
targets, whichever is free first, so that all are done at about the same time. Half of
the paths are targets; --spread=N says how many, at the end, are.`,
		Example: `  linerate copy /data/run42 /mnt/nas/
  linerate copy /data/run42/ /mnt/nas/run42 --delete --dry-run
  linerate copy /data/ /backup --exclude '*.tmp' --exclude /cache/ --limit 500MB
  linerate copy /data/run42 /mnt/nas/ --verify full
  linerate copy --check /data/run42 /mnt/nas/
  linerate copy /data/run42 nas1:/pool/
  linerate copy nas1:/pool/run42 /data/ --streams 8
  linerate copy src1:/a src2:/b dst1:/x dst2:/y --spread
  linerate copy --mem 60s nas1`,
		Args: usage(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.resume != "" {
				return f.again(cmd, env, args)
			}
			if err := usage(copyArgs(&f))(cmd, args); err != nil {
				return err
			}
			if err := f.sides(args); err != nil {
				return err
			}
			return f.run(cmd, env, "copy "+strings.Join(args, " "))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.verify, "verify", "fast", "fast: the hash of every block is compared before it is written; full: BLAKE3, holes are read, and the target is read again past the cache")
	flags.StringArrayVar(&f.Exclude, "exclude", nil, "leave out what a `GLOB` matches, as rsync reads it ('*.tmp', '/cache/'); may be repeated")
	flags.BoolVar(&f.Delete, "delete", false, "delete last what the source does not have, unless something of it could not be read")
	flags.IntVar(&f.MaxDelete, "max-delete", 1000, "with --delete: delete nothing where it would be more entries than these")
	quantityFlag(cmd, &quantity[unit.Bytes]{to: &f.Limit, kind: "size", parse: positive(unit.ParseBytes)}, "limit", "bytes a second, as 500MB")
	flags.StringVar(&f.direct, "direct", "yes", "no: files of 32 MiB or more go through the page cache too")
	flags.BoolVar(&f.Setuid, "setuid", false, "keep set-user-ID and set-group-ID of files")
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "print what would be done; change nothing")
	flags.BoolVar(&f.check, "check", false, "compare source and target without copying; exit code 5 if they differ")
	flags.StringVar(&f.resume, "resume", "", "last: do what the last copy was asked to, which was interrupted or killed; the same command does so too")
	copyFarFlags(cmd, &f)
	copySpreadFlag(cmd, &f)
	return completeFlags(cmd, map[string][]string{"resume": {"last"}, "verify": {"fast", "full"}, "direct": {"yes", "no"}}, "exclude", "max-delete", "limit")
}

// again does what the last copy was asked to do.
func (f *copyFlags) again(cmd *cobra.Command, env *environment, args []string) error {
	if f.resume != "last" || len(args) > 0 {
		return failure.Of(failure.Usage, "--resume last takes no paths: those of the last copy are used")
	}
	if cmd.Flags().NFlag() > 1 && !(cmd.Flags().NFlag() == 2 && env.json) {
		return failure.Of(failure.Usage, "--resume last takes no further flags but --json: those of the last copy are used")
	}
	o, err := copy.Last(env.Env)
	if err != nil {
		return err
	}
	f.Options = o
	return f.finish(cmd.Context(), env, newProgress(env), "copy --resume last", copy.Copy)
}

// read turns words into options.
func (f *copyFlags) read(env *environment) error {
	switch {
	case f.verify != "fast" && f.verify != "full":
		return failure.Of(failure.Usage, "--verify %s: fast or full", f.verify)
	case f.direct != "yes" && f.direct != "no":
		return failure.Of(failure.Usage, "--direct %s: yes or no", f.direct)
	case f.MaxDelete < 0:
		return failure.Of(failure.Usage, "--max-delete %d: 0 or more", f.MaxDelete)
	case f.check && (f.dryRun || f.Delete):
		return failure.Of(failure.Usage, "--check changes nothing: leave out --dry-run and --delete")
	}
	if err := errors.Join(f.checkFar(), f.checkSpread()); err != nil {
		return err
	}
	f.Full, f.Buffered = f.verify == "full", f.direct == "no"
	if f.dryRun && !env.json {
		f.Plan = func(s copy.Step) {
			line := fmt.Sprintf("%-7s %-9s %s", s.Do, s.Kind, s.Path)
			if s.At != "" {
				line += " at " + s.At
			}
			if s.Why != "" {
				line += ": " + s.Why
			}
			fmt.Fprintln(env.out, line)
		}
	}
	return nil
}

func (f *copyFlags) run(cmd *cobra.Command, env *environment, command string) error {
	if err := f.read(env); err != nil {
		return err
	}
	p := newProgress(env)
	work := copy.Copy
	switch {
	case f.check:
		work = copy.Check
	case f.dryRun:
		work = copy.DryRun
	}
	return f.finish(cmd.Context(), env, p, command, work)
}

// finish does the work, keeps the bundle of a copy or a check, prints, and then says how it
// ended.
func (f *copyFlags) finish(ctx context.Context, env *environment, p *progress, command string, work func(context.Context, app.Env, copy.Options, app.Progress) (*copy.Result, error)) error {
	r, ran := work(ctx, env.Env, f.Options, p)
	p.End()
	if r == nil {
		return ran
	}
	var kept error
	if !f.dryRun {
		var text strings.Builder
		d := copyDocument(r, reportedLosses)
		if err := d.Text(&text, false, defaultWidth); err != nil {
			return errors.Join(err, ran)
		}
		if kept = r.Keep(env.Env, p.Started(), command, text.String()); kept != nil {
			kept = fmt.Errorf("keep the copy: %w", kept)
		}
	}
	shown := printed(env, r, nil, func() error { return printDocument(env, copyDocument(r, namedLosses)) })
	if err := errors.Join(shown, kept); err != nil {
		return errors.Join(err, ran)
	}
	return ran
}

// How many losses a terminal and the report name. The bundle's results have more: copy.Result.
const (
	namedLosses    = 20
	reportedLosses = 2000
)

// copyDocument is what a copy came to, with the first losses named.
func copyDocument(r *copy.Result, named int) document.Document {
	m := r.Moved
	d := document.Document{Headline: copyHeadline(r), Saved: r.Report}
	t := document.Table{Head: document.Columns("", "#", "")}
	row := func(name string, n int64, what string) {
		if n > 0 {
			t.Row(name, fmt.Sprint(n), what)
		}
	}
	row("files", m.Files, unit.Bytes(m.Kept()).String()+" of data")
	row("there already", m.Same, unit.Bytes(m.SameBytes).String())
	row("mended", m.Mended, "there already: owner, mode, time or attributes set as the source has them")
	row("directories", m.Directories, "")
	row("symlinks", m.Symlinks, "")
	row("hard links", m.HardLinks, "")
	row("specials", m.Specials, "fifos, sockets, devices")
	row("cloned", m.Cloned, unit.Bytes(m.ClonedBytes).String()+" that the file system copied itself")
	row("resumed", m.Resumed, "bytes that an earlier run had made durable")
	row("deleted", m.Deleted, "")
	row("left out", m.Excluded, "by --exclude")
	row("retried", m.Retried, "changed while they were read")
	row("in vain", m.Vain, "bytes written for files that changed meanwhile, failed, or were not whole at the end")
	d.Lead = append(d.Lead, t.Block())
	if r.State != "planned" {
		d.Lead = append(d.Lead, wireBlocks(r.Wire)...)
		d.Lead = append(d.Lead, spreadBlocks(r.Spread)...)
		d.Lead = append(d.Lead, document.Block{Text: "Verified: " + r.Verified})
		if r.HeldBy != "" {
			d.Lead = append(d.Lead, document.Block{Text: fmt.Sprintf("Held back by: %s; CPU %.2f s", r.HeldBy, r.CPUSec)})
			if r.Limiter != nil && r.Limiter.Advice != "" {
				d.Lead = append(d.Lead, document.Block{Text: "Next: " + r.Limiter.Advice})
			}
		}
	}
	if len(r.Warnings) > 0 {
		d.Lead = append(d.Lead, document.List("", r.Warnings...))
	}
	if len(r.Losses) > 0 {
		title := "Could not be kept"
		if r.State == "different" {
			title = "Differs"
		}
		d.Sections = append(d.Sections, document.Section{Title: title, Care: true, Blocks: []document.Block{document.List("", lossLines(r, named)...)}})
	}
	return d
}

// keeping says with what a kind of loss is kept, where that is an option.
var keeping = map[string]string{copy.LostSetuid: ": kept with --setuid alone"}

// lossLines name the first losses, and say who names the others.
func lossLines(r *copy.Result, named int) (lines []string) {
	for _, l := range r.Losses[:min(len(r.Losses), named)] {
		lines = append(lines, fmt.Sprintf("%s: %s: %s%s", l.What, l.Name, l.Detail, keeping[l.What]))
	}
	also := ""
	if r.LossesNamed > 0 {
		also = fmt.Sprintf(", and losses.jsonl.zst beside it %d", r.LossesNamed)
	}
	switch more := int64(len(r.Losses)-len(lines)) + r.LeftOut; {
	case more == 0:
	case named < reportedLosses && int64(len(lines))+more <= reportedLosses:
		lines = append(lines, fmt.Sprintf("and %d more: linerate report names them", more))
	case named < reportedLosses:
		lines = append(lines, fmt.Sprintf("and %d more: linerate report names the first %d", more, reportedLosses)+also)
	default:
		lines = append(lines, fmt.Sprintf("and %d more: results.json beside this report names the first %d of all", more, len(r.Losses))+also)
	}
	return lines
}

// whileMoving says over which time the rate is, where that is not nearly the whole: a copy between
// hosts begins with logins.
func whileMoving(r *copy.Result) string {
	if r.Wire == nil {
		return ""
	}
	moving := time.Duration(r.Wire.MovedNs)
	if moving <= 0 || r.Took()-moving < r.Took()/50 {
		return ""
	}
	return " in the " + unit.Short(moving).String() + " in which data moved"
}

// copyHeadline is the result in one line.
func copyHeadline(r *copy.Result) string {
	took := unit.Short(r.Took())
	switch m := r.Moved; r.State {
	case "done":
		if m.Same > 0 && m.Files+m.NewDirs+m.Symlinks+m.HardLinks+m.Specials+m.Bytes+m.Deleted == 0 {
			if m.Mended > 0 {
				return fmt.Sprintf("no data to copy: metadata of %s set in %s", unit.Count(int(m.Mended), "entry"), took)
			}
			return fmt.Sprintf("nothing to copy: the target has all of it (found in %s)", took)
		}
		return fmt.Sprintf("copied %v in %s (%v/s%s)%s", unit.Bytes(m.Kept()), took, unit.Bytes(r.Rate/8), whileMoving(r), spreadOver(r))
	case "lossy":
		return fmt.Sprintf("copied %v in %s, but something could not be kept", unit.Bytes(r.Moved.Kept()), took)
	case "planned":
		return fmt.Sprintf("would copy %v; nothing was changed", unit.Bytes(r.Moved.Kept()))
	case "same":
		return fmt.Sprintf("source and target are the same: %v compared in %s", unit.Bytes(r.Moved.Kept()), took)
	case "different":
		return fmt.Sprintf("source and target differ: %v compared in %s", unit.Bytes(r.Moved.Kept()), took)
	}
	return fmt.Sprintf("stopped after %v in %s: %s", unit.Bytes(r.Moved.Kept()), took, r.Error)
}
