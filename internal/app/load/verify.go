package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/kernel"
	"linerate/internal/load/block"
	"linerate/internal/load/shape"
	"linerate/internal/load/storage"
	"linerate/internal/unit"
)

// VerifyOptions says what to verify.
type VerifyOptions struct {
	Path       string
	Journal    string     // path of the run's journal; empty: none was kept
	Area, From unit.Bytes // size and offset to verify; both 0: all, or what the journal covers
	Stuck      time.Duration
}

// VerifyResult says what a target holds.
type VerifyResult struct {
	Verify  Verified       `json:"verify"`
	Runs    []VerifiedRun  `json:"runs"`
	Journal *VerifyJournal `json:"journal,omitempty"`
}

// Verified are its figures.
type Verified struct {
	Target  string `json:"target"`
	From    int64  `json:"from_bytes"`
	Checked int64  `json:"checked_bytes"`
	Proven  int64  `json:"proven_bytes"`
	Zero    int64  `json:"zero_bytes"`
	Wrong   int64  `json:"wrong_bytes"`
	Unsure  int64  `json:"unsure_bytes"`
	// Direct: the target was read without the page cache.
	Direct   bool          `json:"direct"`
	Places   []block.Place `json:"places"`
	More     int           `json:"more_places,omitempty"`
	Evidence []string      `json:"evidence"`
}

// VerifiedRun is a run that wrote to the target.
type VerifiedRun struct {
	Run   string    `json:"run"`
	Bytes int64     `json:"bytes"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
}

// VerifyJournal is what the run's journal says.
type VerifyJournal struct {
	File         string    `json:"file"`
	Run          string    `json:"run"`
	Ended        time.Time `json:"ended"`
	Synced       bool      `json:"synced"`
	Acknowledged int64     `json:"acknowledged_bytes"`
}

// Verify compares what a target holds with what loads wrote there. It returns the result
// with an error if there was nothing to judge, or if something is wrong.
func Verify(ctx context.Context, o VerifyOptions, p app.Progress) (*VerifyResult, error) {
	j, err := readJournal(o.Journal)
	if err != nil {
		return nil, err
	}
	s := Spec{Path: o.Path, Direct: true, From: o.From, Stuck: o.Stuck, Shape: shape.Shape{Read: 1, Area: o.Area}}
	if j != nil && o.Area == 0 && o.From == 0 {
		s.From, s.Shape.Area = j.From, j.Area
	}
	t, s, doubt, err := openPastCache(ctx, s)
	if err != nil {
		return nil, ended(ctx, storage.Refusal(err, o.Path), o.Path, false)
	}
	defer t.Close() // it was only read
	p.Say("verify %s: %v from %d on", o.Path, s.Shape.Area, int64(s.From))
	v, err := block.Verify(ctx, t, block.Span{From: s.From, Size: s.Shape.Area}, j, o.Stuck, func(n unit.Bytes) {
		p.Tick("verify "+o.Path, unit.Percent(float64(n)/float64(s.Shape.Area)))
	})
	p.End()
	if err != nil {
		return nil, ended(ctx, err, o.Path, false)
	}
	out := verified(v, s, o.Journal, j)
	if doubt != "" {
		out.say("%s", doubt)
	}
	return &out, out.verdict()
}

// readJournal reads the journal of a run; nil: there is none.
func readJournal(path string) (*block.Journal, error) {
	if path == "" {
		return nil, nil
	}
	file, err := kernel.OpenNamed(path)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	j, err := block.ReadJournal(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, failure.Of(failure.Usage, "%s: %w", path, err)
	}
	return j, nil
}

// openPastCache opens a target for reads without the page cache. If that is not possible it
// says why reads may come from the cache.
func openPastCache(ctx context.Context, s Spec) (t *block.Target, opened Spec, doubt string, err error) {
	t, opened, err = storage.Open(ctx, s, "")
	if !errors.Is(err, block.ErrNoDirect) {
		return t, opened, "", err
	}
	s.Direct = false
	if t, opened, err = storage.Open(ctx, s, ""); err != nil {
		return nil, s, "", err
	}
	var stuck *StuckError
	switch err = t.Forget(ctx, s.Stuck); {
	case errors.As(err, &stuck):
		return nil, s, "", err
	case err != nil:
		return t, opened, fmt.Sprintf("it was read through this host's page cache, which may hold what the target does not: %v", err), nil
	}
	return t, opened, "its file system knows no direct I/O: the page cache was dropped before, and what is mapped or dirty stays in it", nil
}

func (r *VerifyResult) say(format string, args ...any) {
	r.Verify.Evidence = append(r.Verify.Evidence, fmt.Sprintf(format, args...))
}

// verified puts the result together, with what it does not prove.
func verified(v block.Verdict, s Spec, file string, j *block.Journal) VerifyResult {
	out := VerifyResult{Runs: []VerifiedRun{}, Verify: Verified{Target: s.Path, From: int64(s.From), Checked: v.Checked, Proven: v.Proven, Zero: v.Zero,
		Wrong: v.Wrong, Unsure: v.Unsure, Direct: s.Direct, Places: v.Places, More: v.More, Evidence: []string{}}}
	if v.Places == nil {
		out.Verify.Places = []block.Place{}
	}
	for _, r := range v.Runs {
		out.Runs = append(out.Runs, VerifiedRun{storage.RunName(r.Run), r.Bytes, r.First.UTC(), r.Last.UTC()})
	}
	switch {
	case j == nil && v.Zero > 0:
		out.say("zeroes were never written, or a write to them was lost: only a journal of the run tells (load block --journal)")
	case j == nil:
		out.say("that no later write is missing, only a journal of the run tells (load block --journal)")
	default:
		out.Journal = &VerifyJournal{file, storage.RunName(j.Run), j.Ended, j.Synced, int64(j.Acknowledged()) * int64(j.Block)}
		if !j.Synced {
			out.say("no sync succeeded after the last write of the run: a target that has lost power since may have lost what it acknowledged without a fault")
		}
		if v.Unsure > 0 {
			out.say("%v are of blocks whose last write failed or was not heard of again: whatever a run wrote there is accepted", unit.Bytes(v.Unsure))
		}
	}
	return out
}

// verdict returns an error unless everything is as runs wrote it.
func (r *VerifyResult) verdict() error {
	v := r.Verify
	if r.Journal == nil && v.Proven == 0 {
		foreign := true
		for _, p := range v.Places {
			foreign = foreign && p.Fault == block.Unstamped
		}
		if foreign {
			return failure.Of(failure.Nothing, "verify %s: no run of load block has written there", v.Target)
		}
	}
	if v.Wrong > 0 {
		return failure.Of(failure.Found, "verify %s: %v are not what was written, first at offset %d", v.Target, unit.Bytes(v.Wrong), v.Places[0].Offset)
	}
	return nil
}
