package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/load/block"
	"linerate/internal/load/shape"
	"linerate/internal/load/storage"
	"linerate/internal/unit"
)

func loadVerifyCommand(env *environment) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify FILE|DEVICE",
		Short: "Prove that a target still holds what loads wrote to it",
		Long: `verify reads a file or device past the page cache and compares it, byte by byte,
with what the stamps in it say that runs of load block wrote: which run, which of
its writes, when. It names damaged data by offset, and data that landed somewhere
else. It writes nothing.

What a stamp cannot tell is that a later write is missing. With --journal, the
journal that the run kept of what the target acknowledged, lost, stale and torn
writes are found as well.`,
		Example: `  linerate load block /mnt/nas/testfile --read 50 --seconds 30 --journal run.journal
  linerate load verify /mnt/nas/testfile --journal run.journal
  linerate load verify /dev/sdx --area 100GiB --json`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runVerify(cmd.Context(), env, f, args[0]) },
	}
	cmd.Flags().StringVar(&f.journal, "journal", "", "the journal that load block kept of the run")
	blockFlag(cmd, &f.area, "area", "part of the target that is looked at, from --from on; default all, or the journal's")
	blockFlag(cmd, &f.from, "from", "where that part begins")
	stuckFlag(cmd, &f.stuck)
	return completeFlags(cmd, nil)
}

type verifyFlags struct {
	journal    string
	area, from unit.Bytes
	stuck      time.Duration
}

// verifyResult is what load verify --json prints.
type verifyResult struct {
	Verify  verifyFigures  `json:"verify"`
	Runs    []verifyRun    `json:"runs"`
	Journal *verifyJournal `json:"journal,omitempty"`
}

type verifyFigures struct {
	Target  string `json:"target"`
	From    int64  `json:"from_bytes"`
	Checked int64  `json:"checked_bytes"`
	Proven  int64  `json:"proven_bytes"`
	Zero    int64  `json:"zero_bytes"`
	Wrong   int64  `json:"wrong_bytes"`
	Unsure  int64  `json:"unsure_bytes"`
	// Direct: read past the page cache.
	Direct   bool          `json:"direct"`
	Places   []block.Place `json:"places"`
	More     int           `json:"more_places,omitempty"`
	Evidence []string      `json:"evidence"`
}

type verifyRun struct {
	Run   string    `json:"run"`
	Bytes int64     `json:"bytes"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

type verifyJournal struct {
	File         string    `json:"file"`
	Run          string    `json:"run"`
	Ended        time.Time `json:"ended"`
	Synced       bool      `json:"synced"`
	Acknowledged int64     `json:"acknowledged_bytes"`
}

func runVerify(ctx context.Context, env *environment, f verifyFlags, path string) error {
	j, err := f.read()
	if err != nil {
		return err
	}
	s := block.Spec{Path: path, Direct: true, From: f.from, Stuck: f.stuck, Shape: shape.Shape{Read: 1, Area: f.area}}
	if j != nil && f.area == 0 && f.from == 0 {
		s.From, s.Shape.Area = j.From, j.Area
	}
	p := newProgress(env)
	defer p.End()
	t, s, doubt, err := openPastCache(ctx, s)
	if err != nil {
		return interruptedLoad(ctx, refused(storage.Refusal(err, path)), path, false)
	}
	defer t.Close() // it was only read
	p.Say("verify %s: %v from %d on", path, s.Shape.Area, int64(s.From))
	v, err := block.Verify(ctx, t, block.Span{From: s.From, Size: s.Shape.Area}, j, f.stuck, func(n unit.Bytes) {
		p.Tick("verify "+path, fmt.Sprintf("%.0f%%", 100*float64(n)/float64(s.Shape.Area)))
	})
	p.End()
	if err != nil {
		return interruptedLoad(ctx, err, path, false)
	}
	out := f.result(v, s, j)
	if doubt != "" {
		out.Verify.Evidence = append(out.Verify.Evidence, doubt)
	}
	if err := printVerify(env, out); err != nil {
		return err
	}
	return out.verdict(path)
}

func (f verifyFlags) read() (*block.Journal, error) {
	if f.journal == "" {
		return nil, nil
	}
	file, err := os.Open(f.journal)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	j, err := block.ReadJournal(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, failure.Of(failure.Usage, "%s: %w", f.journal, err)
	}
	return j, nil
}

// openPastCache opens a target so that it is the target that is read, and says
// what speaks against that.
func openPastCache(ctx context.Context, s block.Spec) (t *block.Target, opened block.Spec, doubt string, err error) {
	t, opened, err = storage.Open(ctx, s, "")
	if !errors.Is(err, block.ErrNoDirect) {
		return t, opened, "", err
	}
	s.Direct = false
	if t, opened, err = storage.Open(ctx, s, ""); err != nil {
		return nil, s, "", err
	}
	var stuck *block.StuckError
	switch err = t.Forget(ctx, s.Stuck); {
	case errors.As(err, &stuck):
		return nil, s, "", err
	case err != nil:
		return t, opened, fmt.Sprintf("it was read through this host's page cache, which may hold what the target does not: %v", err), nil
	}
	return t, opened, "its file system knows no direct I/O: the page cache was dropped before, and what is mapped or dirty stays in it", nil
}

func (f verifyFlags) result(v block.Verdict, s block.Spec, j *block.Journal) verifyResult {
	out := verifyResult{Runs: []verifyRun{}, Verify: verifyFigures{Target: s.Path, From: int64(s.From), Checked: v.Checked, Proven: v.Proven, Zero: v.Zero,
		Wrong: v.Wrong, Unsure: v.Unsure, Direct: s.Direct, Places: v.Places, More: v.More, Evidence: []string{}}}
	if v.Places == nil {
		out.Verify.Places = []block.Place{}
	}
	for _, r := range v.Runs {
		out.Runs = append(out.Runs, verifyRun{storage.RunName(r.Run), r.Bytes, r.First.UTC(), r.Last.UTC()})
	}
	say := func(format string, args ...any) {
		out.Verify.Evidence = append(out.Verify.Evidence, fmt.Sprintf(format, args...))
	}
	switch {
	case j == nil && v.Zero > 0:
		say("zeroes were never written, or a write to them was lost: only a journal of the run tells (load block --journal)")
	case j == nil:
		say("that no later write is missing, only a journal of the run tells (load block --journal)")
	default:
		out.Journal = &verifyJournal{f.journal, storage.RunName(j.Run), j.Ended, j.Synced, int64(j.Acknowledged()) * int64(j.Block)}
		if !j.Synced {
			say("no sync succeeded after the last write of the run: a target that has lost power since may have lost what it acknowledged without a fault")
		}
		if v.Unsure > 0 {
			say("%v are of blocks whose last write failed or was not heard of again: whatever a run wrote there is accepted", unit.Bytes(v.Unsure))
		}
	}
	return out
}

// verdict is the exit code.
func (r verifyResult) verdict(path string) error {
	v := r.Verify
	if r.Journal == nil && v.Proven == 0 {
		foreign := true
		for _, p := range v.Places {
			foreign = foreign && p.Fault == block.Unstamped
		}
		if foreign {
			return failure.Of(failure.Nothing, "verify %s: no run of load block has written there", path)
		}
	}
	if v.Wrong > 0 {
		return failure.Of(failure.Found, "verify %s: %v are not what was written, first at offset %d", path, unit.Bytes(v.Wrong), v.Places[0].Offset)
	}
	return nil
}

func printVerify(env *environment, r verifyResult) error {
	if env.json {
		return printJSON(env, r)
	}
	v := r.Verify
	var b strings.Builder
	how := "past the page cache"
	if !v.Direct {
		how = "through the page cache"
	}
	fmt.Fprintf(&b, "%s: %v looked at, %s\n\n", v.Target, unit.Bytes(v.Checked), how)
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "proven\t%v\tas runs wrote it, where they wrote it\n", unit.Bytes(v.Proven))
	fmt.Fprintf(w, "zeroes\t%v\t\n", unit.Bytes(v.Zero))
	fmt.Fprintf(w, "wrong\t%v\t\n", unit.Bytes(v.Wrong))
	if len(r.Runs) > 0 {
		fmt.Fprintln(w, "\nRUN\tHOLDS\tWRITTEN")
	}
	for _, x := range r.Runs {
		fmt.Fprintf(w, "%s\t%v\t%s to %s\n", x.Run, unit.Bytes(x.Bytes), x.First.Format(time.RFC3339Nano), x.Last.Format(time.RFC3339Nano))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.Journal != nil {
		fmt.Fprintf(&b, "\nJournal of run %s: %v acknowledged\n", r.Journal.Run, unit.Bytes(r.Journal.Acknowledged))
	}
	printPlaces(&b, v)
	for _, e := range v.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	_, err := fmt.Fprint(env.out, b.String())
	return err
}

func printPlaces(w io.Writer, v verifyFigures) {
	const shown = 10
	if len(v.Places) > 0 {
		fmt.Fprintln(w)
	}
	for _, p := range v.Places[:min(len(v.Places), shown)] {
		fmt.Fprintf(w, "offset %d, %v: %s: %s\n", p.Offset, unit.Bytes(p.Bytes), p.Fault, p.Detail)
	}
	if n := len(v.Places) + v.More - shown; n > 0 {
		fmt.Fprintf(w, "and %s more\n", plural(n, "place"))
	}
}
