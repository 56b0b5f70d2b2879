package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/tune"
)

// Fix goes from one limiter of a path, or of a mount, to the next: it names the limiter,
// changes the one setting, proves the gain by interleaved pairs with planned looks, and
// keeps or undoes the change. It ends when the link is the limit, when the next limiter needs
// an operator, when causes cannot be distinguished, or when the next change is not allowed. At
// the end it undoes changes that a later one made unnecessary.
//
// It changes nothing that trades data safety or security, and nothing that Ask
// does not allow. Every change goes through the journal of its host, which
// undoes it by itself if this process dies in the middle of a proof.
type Fix struct {
	Loop
	Budget time.Duration // no step begins that would exceed it
	// Ask allows a change before it is tried; nil allows all.
	Ask func(v model.Verdict) (bool, error)
	// Export is what the Receiver reads from the Sender over its mount; nil: only the
	// network path is fixed.
	Export *Export
	Rungs  RungTime // rungs of the ladder over a mount; zero is DefaultRungTime

	looks []int // looks of a proof, as far as the budget allows
	rec   *Record
	again func(ctx context.Context, label string) (model.Run, error) // reads over the mount
	tried map[string]bool
	plans int
}

// Keeper is what Fix needs of a host besides an Agent.
type Keeper interface {
	Agent
	Confirm(ctx context.Context, planID string) error
}

const (
	// keepWithin is how long a host waits to hear that it is still reachable after
	// a kept change.
	keepWithin = time.Minute
	// proofDeadMan is the time after which a host undoes a change of a proof by itself: a run,
	// plus the time that starting one may take on a busy machine.
	proofDeadMan = 2 * time.Minute
	// maxSteps bounds a fix whose verdicts name ever new limiters.
	maxSteps = 12
)

// Run fixes the path. The record is never nil; its verdict is on the final state of the path.
// Results.Steps has what was kept, with the plans that undo it.
func (f *Fix) Run(ctx context.Context) (*Record, error) {
	f.DeadMan, f.Prove, f.climbs, f.tried = proofDeadMan, false, true, map[string]bool{}
	f.rec, f.looks = &Record{Facts: map[string]*model.Facts{}}, f.Timing.Looks
	if len(f.looks) == 0 {
		f.looks = study.PlannedBlocks()
	}
	started := f.Now()
	err := f.climb(ctx, started)
	if err == nil {
		err = f.prune(ctx, started)
	}
	r := &f.rec.Results
	r.V, r.Started, r.Hosts, r.Took = model.OutcomeVersion, started, []string{f.Sender.Name, f.Receiver.Name}, f.Now().Sub(started)
	return f.rec, err
}

func (f *Fix) climb(ctx context.Context, started time.Time) error {
	for n := 1; ; n++ {
		rec, err := f.pass(ctx)
		f.take(n, rec)
		if err != nil {
			return err
		}
		if f.end(rec.Results.Verdict, n, started) {
			return nil
		}
		more, err := f.try(ctx, n, rec)
		if err != nil || !more {
			return err
		}
	}
}

// pass diagnoses the path once: by memory-to-memory TCP or, over a mount, by the
// ladder, which then also makes the runs of a proof.
func (f *Fix) pass(ctx context.Context) (*Record, error) {
	if f.Export == nil {
		return f.Loop.Run(ctx)
	}
	c := &Climb{Loop: f.Loop, Export: f.Export, Rungs: f.Rungs}
	c.over = nil
	rec, err := c.Run(ctx)
	if err == nil && f.Report != nil {
		f.Report(rec.Results.Verdict)
	}
	if err == nil {
		f.Workload.SenderCPUs, f.Workload.ReceiverCPUs = rec.Facts[f.Sender.Name].CPUs, rec.Facts[f.Receiver.Name].CPUs
	}
	f.again = c.readAgain
	return rec, err
}

// proveBy chooses the runs that prove a change. An open connection keeps its state when the
// setting is undone, and the connection of a mount stays open through all runs. So settings of
// TCP and of interfaces are proved by new connections from the server to the client, and
// settings of the mount and of the server's file service by reading.
func (f *Fix) proveBy(setting string) {
	f.over = nil
	if f.Export != nil && readOver(setting) {
		f.over = f.again
	}
}

// readOver reports whether a setting is one of the mount itself, or of the service behind it.
func readOver(setting string) bool {
	return strings.HasPrefix(setting, "linux.bdi.") || strings.HasPrefix(setting, "linux.nfsd.")
}

// readAgain reads over the mount what the climb has read, for the time of one run of a proof.
func (c *Climb) readAgain(ctx context.Context, label string) (model.Run, error) {
	if c.read.File == "" {
		return model.Run{}, errors.New("nothing was read over the mount")
	}
	if c.stopped != nil {
		return model.Run{}, c.stopped
	}
	c.Rungs.Read = c.Timing.Pair + c.Timing.PairWarmup
	kept := len(c.rec.Results.Runs)
	run, _, err := c.readMount(ctx, label, c.read)
	c.rec.Results.Runs = c.rec.Results.Runs[:kept] // the proof records this run
	return run, err
}

// take makes a pass the current diagnosis; the runs of earlier ones stay.
func (f *Fix) take(n int, rec *Record) {
	old := f.rec.Results
	for i := range rec.Results.Runs {
		rec.Results.Runs[i].Label = fmt.Sprintf("step %d: %s", n, rec.Results.Runs[i].Label)
	}
	rec.Results.Runs = append(old.Runs, rec.Results.Runs...)
	rec.Results.Changes = old.Changes
	rec.Results.Warnings = append(old.Warnings, rec.Results.Warnings...)
	rec.Results.Steps, rec.Results.Ended = old.Steps, old.Ended
	if n > 1 {
		rec.Results.Restored = rec.Results.Restored && old.Restored
	}
	f.rec = rec
}

// end reports whether the fix is over, and records why.
func (f *Fix) end(v model.Verdict, n int, started time.Time) bool {
	r := &f.rec.Results
	switch {
	case v.Limiter == model.None:
		r.Ended = "nothing holds the path back any more: " + v.Line
	case v.Limiter == model.Undetermined || v.Limiter == model.StartUp:
		r.Ended = "what limits the path now cannot be told: " + v.Line
	case f.olderThan(v):
		r.Ended = fmt.Sprintf("the connection of %s is older than what was kept and shows the same limit: mount it anew, then run this again", f.Export.Mount.Point)
	case v.Fix.Kind != model.FixSetting:
		r.Ended = "what limits the path now is an operator's: " + v.Fix.Advice
	case f.tried[fixKey(v.Fix)]:
		r.Ended = fmt.Sprintf("%s on %s was tried and is named again: nothing else is known to help", v.Fix.Setting, v.Fix.Host)
	case n > maxSteps:
		r.Ended = fmt.Sprintf("%d steps were made", maxSteps)
	case !f.planLooks(started):
		r.Ended = fmt.Sprintf("the budget of %s does not hold another proof, of about %s", f.Budget, f.proofTime(f.looks[0]).Round(time.Second))
	default:
		return false
	}
	if v.Limiter != model.None {
		r.Steps = append(r.Steps, model.FixStep{Verdict: v, Host: v.Fix.Host, Why: r.Ended})
	}
	f.say("%s", r.Ended)
	return true
}

// olderThan reports whether a mount still shows a limit that was removed for new connections.
func (f *Fix) olderThan(v model.Verdict) bool {
	return f.Export != nil && slices.ContainsFunc(f.rec.Results.Steps, func(s model.FixStep) bool {
		return s.Kept && s.Verdict.Limiter == v.Limiter && s.Verdict.Host == v.Host && !readOver(s.Change.Setting)
	})
}

func fixKey(x model.Fix) string { return x.Host + " " + x.Target + " " + x.Setting + " " + x.To }

// planLooks plans the looks of the next proof that fit into the budget; false: not even the
// first does.
func (f *Fix) planLooks(started time.Time) bool {
	left, n := f.Budget-f.Now().Sub(started), 0
	for n < len(f.looks) && f.proofTime(f.looks[n]) <= left {
		n++
	}
	f.Timing.Looks = f.looks[:n]
	return n > 0
}

// proofTime is the time of a proof of that many pairs: its runs, and the diagnosis that
// follows.
func (f *Fix) proofTime(pairs int) time.Duration {
	around := 300 * time.Millisecond // starting and ending a run
	if f.Export != nil {
		around = 2 * time.Second // dropping the file from the page cache as well
	}
	return time.Duration(2*(pairs+f.Timing.AAPairs))*(f.Timing.Pair+around) + f.Timing.Diagnosis
}

// try proves the change that a verdict asks for, and keeps it or not. false ends the fix.
func (f *Fix) try(ctx context.Context, n int, rec *Record) (more bool, err error) {
	v := rec.Results.Verdict
	f.tried[fixKey(v.Fix)] = true
	step := model.FixStep{Verdict: v, Host: v.Fix.Host}
	plan, err := planOf(f.planID(), rec)
	if errors.Is(err, tune.ErrPlan) { // the user has to name it, or there is no value for it
		f.notTried(step, err.Error())
		return false, nil
	}
	if err != nil {
		return false, err
	}
	step.Change = &plan.Changes[0]
	if f.Ask != nil {
		yes, err := f.Ask(v)
		if err != nil {
			return false, err
		}
		if !yes {
			f.notTried(step, "you declined it")
			return false, nil
		}
	}
	from := len(rec.Results.Runs)
	f.proveBy(v.Fix.Setting)
	err = f.prove(ctx, rec)
	for i := from; i < len(rec.Results.Runs); i++ {
		rec.Results.Runs[i].Label = fmt.Sprintf("step %d: %s", n, rec.Results.Runs[i].Label)
	}
	if err == nil {
		err = f.checkRestored(ctx, rec)
	}
	if err != nil {
		return false, err
	}
	step.Proof, rec.Results.Proof = rec.Results.Proof, nil
	return true, f.decide(ctx, plan, step)
}

// notTried ends the fix at a step.
func (f *Fix) notTried(step model.FixStep, why string) {
	step.Why = "not tried: " + why
	f.rec.Results.Ended = step.Why
	f.rec.Results.Steps = append(f.rec.Results.Steps, step)
}

func (f *Fix) planID() string {
	f.plans++
	return fmt.Sprintf("fix-%s-%d", f.Now().UTC().Format("20060102T150405"), f.plans)
}

// decide keeps a change whose gain is proved.
func (f *Fix) decide(ctx context.Context, plan model.Plan, step model.FixStep) error {
	p := step.Proof
	switch {
	case p == nil:
		step.Why = "not tried: neither linerate nor an operator can make this change here"
	case p.Effect != study.Gain:
		step.Why = "put back: " + putBack(p)
	default:
		if err := f.keep(ctx, step.Host, plan); err != nil {
			step.Why = "put back: " + err.Error()
			f.rec.Results.Steps = append(f.rec.Results.Steps, step)
			return fmt.Errorf("keep %s on %s: %w", step.Change.Setting, step.Host, err)
		}
		step.Kept, step.Plan, step.Why = true, plan.ID, "kept: it is a proven gain"
	}
	f.say("%s on %s: %s", step.Change.Setting, step.Host, step.Why)
	f.rec.Results.Steps = append(f.rec.Results.Steps, step)
	return nil
}

// putBack is the reason why a change without a proved gain is undone.
func putBack(p *model.Proof) string {
	switch p.Effect {
	case study.NoEffectAbove:
		return fmt.Sprintf("it brings no more than %.0f%%", 100*(study.Margin-1))
	case study.Undecided:
		return fmt.Sprintf("%d pairs show no effect and exclude none", p.Pairs)
	}
	return p.Effect
}

// keep applies a change permanently. The host undoes it unless both ends still answer
// afterwards.
func (f *Fix) keep(ctx context.Context, end string, plan model.Plan) error {
	k, err := f.keeper(end)
	if err != nil {
		return err
	}
	plan.ConfirmWithin = keepWithin
	_, err = k.Apply(ctx, plan)
	if err == nil {
		err = f.look(ctx, map[string]*model.Facts{})
	}
	if err == nil {
		err = k.Confirm(ctx, plan.ID)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		_, undoErr := k.Undo(ctx, plan.ID)
		if undoErr != nil {
			f.rec.Results.Restored = false
		}
		return errors.Join(err, undoErr)
	}
	return nil
}

func (f *Fix) keeper(end string) (Keeper, error) {
	for _, e := range []End{f.Sender, f.Receiver} {
		if k, ok := e.Agent.(Keeper); ok && e.Name == end {
			return k, nil
		}
	}
	return nil, fmt.Errorf("the agent of %s cannot keep a change", end)
}
