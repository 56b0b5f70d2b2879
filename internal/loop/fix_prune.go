package loop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
	"linerate/internal/unit"
)

// prune undoes kept changes that a later one made unnecessary. The last one stays: it was
// proved with all the others in force.
func (f *Fix) prune(ctx context.Context, started time.Time) error {
	steps := f.rec.Results.Steps
	last := -1
	for i, s := range steps {
		if s.Kept {
			last = i
		}
	}
	for i := range steps[:max(0, last)] {
		if !steps[i].Kept || f.changedAgain(steps, i) {
			continue
		}
		if !f.planLooks(started) {
			f.rec.Results.Warnings = append(f.rec.Results.Warnings, model.Warning{ID: "not-pruned",
				What: "whether all of the kept changes are needed was not tried: the budget is spent", Next: "run it again with a larger --budget"})
			return nil
		}
		if err := f.pruneOne(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// changedAgain reports whether a later step changed the same setting, so that this one cannot
// be undone by itself.
func (f *Fix) changedAgain(steps []model.FixStep, i int) bool {
	for _, s := range steps[i+1:] {
		if s.Kept && s.Host == steps[i].Host && s.Change.Setting == steps[i].Change.Setting && s.Change.Target == steps[i].Change.Target {
			return true
		}
	}
	return false
}

// pruneOne runs pairs with and without one kept change.
func (f *Fix) pruneOne(ctx context.Context, i int) error {
	s := &f.rec.Results.Steps[i]
	k, err := f.keeper(s.Host)
	if err != nil {
		return err
	}
	f.proveBy(s.Change.Setting)
	t := &without{fix: f, keeper: k, step: s}
	f.say("is %s on %s still needed?", s.Change.Setting, s.Host)
	proof, err := f.pairs(ctx, study.Options{Seed: f.Seed + uint64(i) + 1, Undo: undoTimeout}, t,
		func(ctx context.Context, label string) (unit.BitRate, error) {
			run, err := f.pair(ctx, fmt.Sprintf("without %s: %s", s.Change.Setting, label))
			return run.Goodput, err
		})
	if err != nil {
		return fmt.Errorf("see whether %s on %s is needed: %w", s.Change.Setting, s.Host, err)
	}
	if !needless(proof) {
		return nil
	}
	if _, err := k.Undo(ctx, s.Plan); err != nil {
		f.rec.Results.Restored = false
		return fmt.Errorf("take %s on %s out: %w", s.Change.Setting, s.Host, err)
	}
	s.Kept, s.Plan, s.Why = false, "", "taken out at the end: with what was kept later the path is no slower without it"
	f.say("%s on %s: %s", s.Change.Setting, s.Host, s.Why)
	return nil
}

// needless reports whether the path without the change is slower by less than Margin.
func needless(p model.Proof) bool {
	if p.CILow == nil || p.CIHigh == nil {
		return false
	}
	return p.Effect == study.Gain || study.Equivalent(math.Log(*p.CILow), math.Log(*p.CIHigh), study.Margin)
}

// without is the treatment "without this change".
type without struct {
	fix    *Fix
	keeper Keeper
	step   *model.FixStep
	out    bool
}

// Apply implements study.Treatment.
func (t *without) Apply(ctx context.Context) error {
	t.out = true
	_, err := t.keeper.Undo(ctx, t.step.Plan)
	return err
}

// Undo implements study.Treatment: it applies the change again.
func (t *without) Undo(ctx context.Context) error {
	if !t.out {
		return nil
	}
	facts, err := t.keeper.Facts(ctx)
	if err != nil {
		return fmt.Errorf("make %s again: %w", t.step.Change.Setting, err)
	}
	id := t.fix.planID()
	plan, err := tune.NewPlan(id, facts, keepWithin, []profile.Row{tune.RowOf(*t.step.Change)})
	if err == nil {
		_, err = t.keeper.Apply(ctx, plan)
	}
	if err == nil {
		err = t.keeper.Confirm(ctx, id)
	}
	if err != nil {
		_, undoErr := t.keeper.Undo(ctx, id)
		t.step.Kept = false
		t.step.Why = "lost: it could not be made again"
		return errors.Join(fmt.Errorf("make %s again: %w", t.step.Change.Setting, err), undoErr)
	}
	t.out, t.step.Plan = false, id
	return nil
}
