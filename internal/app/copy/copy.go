// Package copy is the work of the copy command: it works out what comes to lie where, plans,
// copies, deletes, compares, and keeps the bundle. It refuses to copy a tree into itself, to
// delete after anything could not be read, and to call a copy done of which something could
// not be kept.
package copy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/move"
	"linerate/internal/move/local"
	"linerate/internal/move/mover"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
	"linerate/internal/unit"
)

// Options says what to copy, and how.
type Options struct {
	Sources   []string
	Target    string
	Spread    Spread // over several targets; Target is empty then
	Full      bool   // BLAKE3 leaves, holes are read, the target is read again past the cache
	Exclude   []string
	Delete    bool
	MaxDelete int
	Limit     unit.Bytes // a second; 0: none
	Buffered  bool       // through the page cache
	Setuid    bool
	Far       Far // where one end is another host
	// Plan is called with every step of a dry run other than "same"; nil: the result keeps
	// the first planKept of them.
	Plan func(Step) `json:"-"`
}

// Result is the result of a copy, a dry run or a check.
type Result struct {
	V       int        `json:"v"`
	Sources []string   `json:"sources"`
	Target  string     `json:"target"`
	Spread  *Spreading `json:"spread,omitempty"`
	// State is "done", "lossy" (copied, but something could not be kept or failed),
	// "planned" (a dry run), "stopped" (by an error or Ctrl-C), "same" or "different" (a
	// check).
	State string `json:"state"`
	// Error is what stopped it.
	Error  string       `json:"error,omitempty"`
	Moved  move.Summary `json:"moved"`
	TookNs int64        `json:"took_ns"`
	Rate   float64      `json:"rate_bps"`
	// Lost counts by kind what could not be kept, what failed and, of a check, what differs;
	// Losses name the first of them, and LeftOut says how many are not named there.
	Lost    map[string]int64 `json:"lost"`
	Losses  []move.Loss      `json:"losses"`
	LeftOut int64            `json:"losses_left_out"`
	// LossesNamed is how many store.LossesName in the bundle names; 0: there is no such file.
	LossesNamed int64             `json:"losses_named"`
	named       *lines[move.Loss] // nil: nothing is kept of it
	// Verified says how the data were verified.
	Verified string `json:"verified"`
	// HeldBy is what the copy waited for most, and Times all that it waited for, summed over
	// what was in flight.
	HeldBy  string      `json:"held_by"`
	Limiter *Limiter    `json:"limiter,omitempty"`
	Times   local.Times `json:"times"`
	CPUSec  float64     `json:"cpu_s"`
	Plan    []Step      `json:"plan,omitempty"`
	PlanOut int64       `json:"plan_left_out,omitempty"`
	Report  string      `json:"report,omitempty"`
	Wire    *Wire       `json:"wire,omitempty"` // between hosts
	// Warnings are doubts about the copy as a whole.
	Warnings []string `json:"warnings"`
}

// LostSetuid is the kind of loss that an option of a copy avoids.
const LostSetuid = move.LostSetuid

// Step is one line of a plan.
type Step struct {
	Do   string `json:"do"` // "new", "replace", "mend" (metadata), "delete", "refuse"
	Kind string `json:"kind"`
	Path string `json:"path"` // below the target, quoted as losses are
	Size int64  `json:"bytes"`
	Why  string `json:"why,omitempty"`
	// At is the target, of several; "": one of them, whichever is free first.
	At string `json:"at,omitempty"`
}

// planKept bounds the steps in a result.
const planKept = 20000

// resultVersion is of Result.
const resultVersion = 1

// session is one copy in progress.
type session struct {
	env    app.Env
	p      app.Progress
	o      Options
	route  route
	report *move.Report
	src    *tree.Tree
	dst    *place.Place
	out    *Result
	began  time.Time
	seen   *watched // of a copy
	spent  *local.Spent
	cpu    time.Duration // of this process before it
}

// verify is what source and target are to hash with.
func (o Options) verify() move.Verify {
	if o.Full {
		return move.Full
	}
	return move.Fast
}

// begin opens both ends. With plan nothing will be changed.
func begin(e app.Env, o Options, p app.Progress, plan bool) (*session, error) {
	r, err := routeOf(o.Sources, o.Target)
	if err == nil {
		err = r.apart(o)
	}
	if err != nil {
		return nil, err
	}
	out := &Result{V: resultVersion, Sources: o.Sources, Target: o.Target, Warnings: []string{}}
	s := &session{env: e, p: p, o: o, route: r, report: out.losing(), out: out, began: e.Now()}
	if !plan {
		if err := r.Make(); err != nil {
			return nil, err
		}
	}
	s.src, err = tree.Open(r.Tops, tree.Options{Exclude: o.Exclude, Verify: o.verify(), Direct: !o.Buffered, Plan: plan}, s.report)
	if err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	s.dst, err = place.Open(r.Root, place.Options{Verify: o.verify(), Direct: !o.Buffered, Setuid: o.Setuid, Plan: plan}, s.report)
	if err != nil {
		return nil, errors.Join(err, s.src.Close())
	}
	return s, nil
}

func (s *session) close() error { return errors.Join(s.src.Close(), s.dst.Close()) }

// Copy copies. With an error it also returns what was copied before.
func Copy(ctx context.Context, e app.Env, o Options, p app.Progress) (*Result, error) {
	if len(o.Spread.Targets) > 0 {
		return copySpread(ctx, e, o, p, mover.Copying)
	}
	if o.IsFar() {
		return copyFar(ctx, e, o, p, mover.Copying)
	}
	s, err := begin(e, o, p, false)
	if err != nil {
		return nil, err
	}
	if s.dst.Unlocked() {
		s.out.Warnings = append(s.out.Warnings, "the target's file system has no locks: whether another copy writes there is not known")
	}
	s.out.note(e, o, false)
	cpu := mover.CPUTime()
	spent := s.watch(ctx, cpu)
	stop := s.follow(ctx)
	var dst move.Sink = s.dst
	if o.Delete {
		dst = &place.Deleting{Place: s.dst, Whole: s.route.Whole(), Most: o.MaxDelete, Rep: s.report}
	}
	s.out.Times, err = local.Copy(ctx, s.src, dst, s.report, local.Options{Rate: int64(o.Limit), Verify: o.verify(), Clone: true, Spent: spent})
	err = errors.Join(err, s.close()) // on a mount this waits for answers: the samples go on
	stop()
	s.tell()
	s.seen.close()
	s.out.CPUSec = (mover.CPUTime() - cpu).Seconds()
	if counts, _, _ := s.report.Losses(); err == nil && counts[move.Failed] == 0 {
		s.out.note(e, o, true)
	}
	r, err := s.ended(ctx, "done", err)
	r.Limiter = s.seen.limiter()
	r.HeldBy = r.Limiter.Text
	return r, err
}

// DryRun says what Copy would do, by the same decisions, and changes nothing.
func DryRun(ctx context.Context, e app.Env, o Options, p app.Progress) (*Result, error) {
	if len(o.Spread.Targets) > 0 {
		return copySpread(ctx, e, o, p, mover.Planning)
	}
	if o.IsFar() {
		return copyFar(ctx, e, o, p, mover.Planning)
	}
	s, err := begin(e, o, p, true)
	if err != nil {
		return nil, err
	}
	plan := &place.Planned{Place: s.dst, Delete: o.Delete, Whole: s.route.Whole(), Most: o.MaxDelete, Rep: s.report, Step: func(x place.Step) error {
		s.step(Step{Do: x.Do, Kind: x.Kind.String(), Path: shown(x.Path), Size: x.Size, Why: x.Why})
		return nil
	}}
	err = s.src.Scan(ctx, func(x *move.Entry) error { return plan.Make(ctx, x) })
	if err == nil {
		err = plan.Tidy(ctx, s.src)
	}
	return s.ended(ctx, "planned", errors.Join(err, s.close()))
}

func (s *session) step(x Step) {
	switch {
	case s.o.Plan != nil:
		s.o.Plan(x)
	case len(s.out.Plan) < planKept:
		s.out.Plan = append(s.out.Plan, x)
	default:
		s.out.PlanOut++
	}
}

func shown(path string) string {
	if path == "" {
		return "."
	}
	return move.Quote(path)
}

// ended makes the result from the counters.
func (s *session) ended(ctx context.Context, state string, err error) (*Result, error) {
	r := s.out
	r.State, r.Moved = state, s.report.Summary()
	r.TookNs = int64(s.env.Now().Sub(s.began))
	if secs := time.Duration(r.TookNs).Seconds(); secs > 0 && state == "done" {
		r.Rate = 8 * float64(r.Moved.Kept()) / secs
	}
	var all int64
	if r.Lost, r.Losses, _ = s.report.Losses(); r.Losses == nil {
		r.Losses = []move.Loss{}
	}
	for _, n := range r.Lost {
		all += n
	}
	r.settleNames(all)
	r.Verified = s.o.verified(r.Moved)
	switch {
	case err != nil:
		r.State, r.Error = "stopped", err.Error()
		if ctx.Err() != nil {
			err, r.Error = interrupted(state), "interrupted"
		} else if errors.Is(err, move.ErrSink) {
			err = fmt.Errorf("copy to %s: %w; see to its room, its quota and its disk, then run the same command again: it goes on", s.o.Target, err)
		}
	case all > 0 && state == "done":
		r.State = "lossy"
		err = failure.Of(failure.Lossy, "copied, but not all: %s", lostText(r.Lost))
	case all > 0 && state == "different":
		err = failure.Of(failure.Found, "source and target differ: %s", lostText(r.Lost))
	case all > 0:
		err = failure.Of(failure.Lossy, "not all would be copied: %s", lostText(r.Lost))
	}
	return r, err
}

// interrupted is the error of what was to become a result of that state. Small files that were
// written and had no name yet are gone.
func interrupted(state string) error {
	if state != "done" {
		return failure.Of(failure.Interrupted, "interrupted; nothing was changed")
	}
	return failure.Of(failure.Interrupted, "interrupted; every file that has its name is whole: the same command goes on")
}

// Keep writes the bundle of a copy, with the text that people are shown.
func (r *Result) Keep(e app.Env, started time.Time, command, text string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	line := fmt.Sprintf("copy %s: %v in %v, %s", r.State, unit.Bytes(r.Moved.Kept()), time.Duration(r.TookNs).Round(time.Millisecond), unit.Count(int(r.Moved.Files), "file"))
	if r.Error != "" {
		line += ": " + r.Error
	}
	rec := &app.Record{Facts: map[string]*model.Facts{}, Results: model.Results{
		Started: started, Took: time.Duration(r.TookNs), Hosts: []string{"local"}, Command: command,
		Load: &model.Load{V: model.LoadVersion, Kind: "copy", Line: line, Text: text, Series: []model.LoadSeries{}, Data: data},
	}}
	rec.Results.V, rec.Results.Restored, rec.Results.Verdict.Line = model.OutcomeVersion, true, line
	err = app.KeepMore(e, rec, r.keepNames)
	r.Report = rec.Results.Report
	return errors.Join(err, r.named.close())
}
