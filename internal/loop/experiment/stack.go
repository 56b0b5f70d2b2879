package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/file"
)

// layer is a part of the state that the hosts are in. Layers form a stack: only the
// topmost can be undone.
type layer struct {
	key    string // equal for equal layers
	factor string // empty: a step of the baseline
	// level has the operator's work, or the settings to set.
	level model.StudyLevel
	// keep: the layer is in force for many runs, so its change is confirmed. Other layers the
	// host undoes by itself unless they are undone in time.
	keep bool
	made []made
}

func (l layer) name() string { return strings.TrimSpace(l.factor + " " + l.level.Name) }

// made is a plan that a host has carried out.
type made struct {
	host *Host
	plan model.Plan
}

// wanted returns the state that a run needs: layers from the lowest up, with the treatment on
// top, and the workload.
func (x *Experiment) wanted(run *model.StudyRun) ([]layer, model.StudyWorkload, error) {
	i := slices.IndexFunc(x.File.Workloads, func(w model.StudyWorkload) bool { return w.Name == run.Workload })
	if i < 0 {
		return nil, model.StudyWorkload{}, fmt.Errorf("find workload %q: the study has none of that name", run.Workload)
	}
	if run.Steps > len(x.File.Baseline) {
		return nil, model.StudyWorkload{}, fmt.Errorf("make %d steps of the baseline: it has %d", run.Steps, len(x.File.Baseline))
	}
	w := x.File.Workloads[i]
	// An operator's work is the lowest layer, so that it survives a run that failed.
	var byOperator, steps, hard, easy []layer
	var err error
	for _, s := range x.File.Baseline[:run.Steps] {
		if w, err = adjusted(w, s); err != nil {
			return nil, w, err
		}
		next := layer{key: "step " + s.Name, level: s, keep: true}
		switch {
		case s.Instruct != "":
			byOperator = append(byOperator, next)
		case len(s.Set) > 0:
			steps = append(steps, next)
		}
	}
	for _, f := range x.File.Factors {
		l, ok, err := levelOf(f, run)
		if err == nil && ok {
			w, err = adjusted(w, l)
		}
		if err != nil {
			return nil, w, err
		}
		next := layer{key: f.Name + " " + l.Name, factor: f.Name, level: l, keep: true}
		switch {
		case !ok:
		case l.Instruct != "":
			byOperator = append(byOperator, next)
		case len(l.Set) > 0 && f.Hard:
			hard = append(hard, next)
		case len(l.Set) > 0:
			easy = append(easy, next)
		}
	}
	return slices.Concat(byOperator, steps, hard, merged(easy)), w, nil
}

// merged makes one layer of those that are changed together: a host can wait for the
// confirmation of one plan only.
func merged(easy []layer) []layer {
	if len(easy) == 0 {
		return nil
	}
	one := layer{}
	for _, l := range easy {
		one.key += l.key + ";"
		one.factor = strings.TrimPrefix(one.factor+", "+l.factor, ", ")
		one.level.Name = strings.TrimPrefix(one.level.Name+", "+l.level.Name, ", ")
		one.level.Set = append(one.level.Set, l.level.Set...)
	}
	return []layer{one}
}

// levelOf is the level that a run has of a factor; false: that of the baseline.
func levelOf(f model.StudyFactor, run *model.StudyRun) (model.StudyLevel, bool, error) {
	name := run.Levels[f.Name]
	if f.Name == run.Factor {
		name = run.Level
	}
	if name == "" {
		return model.StudyLevel{}, false, nil
	}
	for _, l := range f.Levels {
		if l.Name == name {
			return l, true, nil
		}
	}
	return model.StudyLevel{}, false, fmt.Errorf("find level %q: factor %s has none of that name", name, f.Name)
}

func adjusted(w model.StudyWorkload, l model.StudyLevel) (model.StudyWorkload, error) {
	if len(l.Workload) == 0 || !file.Applies(w, l.Workload) {
		return w, nil
	}
	out, err := file.Change(w, l.Workload)
	if err != nil {
		return w, fmt.Errorf("change workload %s for level %s: %w", w.Name, l.Name, err)
	}
	return out, nil
}

// reach brings the hosts from their present state to another. The lowest layers that
// both have in common stay.
func (x *Experiment) reach(ctx context.Context, want []layer, w model.StudyWorkload) error {
	same := 0
	for same < len(want) && same < len(x.stack) && want[same].key == x.stack[same].key {
		same++
	}
	if err := x.takeDown(ctx, same); err != nil {
		return err
	}
	for _, l := range want[same:] {
		if err := x.put(ctx, l, w); err != nil {
			return err
		}
	}
	return x.refresh(ctx, w)
}

// takeDown undoes layers from the top until only so many are left.
func (x *Experiment) takeDown(ctx context.Context, left int) error {
	for len(x.stack) > left {
		top := x.stack[len(x.stack)-1]
		var err error
		if top.level.Instruct != "" {
			err = x.back(ctx, top)
		} else {
			err = x.undo(ctx, top)
		}
		if err != nil {
			return err
		}
		x.stack = x.stack[:len(x.stack)-1]
		if top.level.Instruct != "" {
			if err := x.anewBase(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// put adds one layer.
func (x *Experiment) put(ctx context.Context, l layer, w model.StudyWorkload) error {
	var not *notInForceError
	if l.level.Instruct != "" {
		err := x.byHand(ctx, l)
		switch {
		case err == nil:
			x.stack = append(x.stack, l)
			return x.anewBase(ctx)
		case l.factor == "" && errors.As(err, &not):
			return &baselineError{"step " + l.level.Name, err}
		}
		return err
	}
	err := x.change(ctx, &l, w)
	if l.factor == "" && errors.As(err, &not) {
		err = &baselineError{"step " + l.level.Name, err}
	}
	if err == nil {
		x.stack = append(x.stack, l)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	if uerr := x.undo(ctx, l); uerr != nil {
		x.stack = append(x.stack, l) // part of it is still on the hosts: the next attempt undoes it
		return errors.Join(err, uerr)
	}
	return err
}

// baselineError: a step of the baseline, or the load, cannot be had, so there is
// nothing to compare with.
type baselineError struct {
	step string // "step NAME", "workload NAME"
	err  error
}

// Error implements error.
func (e *baselineError) Error() string {
	return fmt.Sprintf("make %s of the baseline: %v", e.step, e.err)
}

// undo takes back what a layer changed, the host that was changed last first.
func (x *Experiment) undo(ctx context.Context, l layer) error {
	var errs []error
	for _, m := range slices.Backward(l.made) {
		if _, err := m.host.agent.Undo(ctx, m.plan.ID); err != nil {
			errs = append(errs, fmt.Errorf("undo %s on %s: %w", l.name(), m.host.Name, err))
		}
	}
	return errors.Join(errs...)
}

// deadMan is after how long a host undoes a treatment by itself: the time of a run,
// and of preparing one on a busy machine.
func deadMan(w model.StudyWorkload) time.Duration { return 2*(w.Warmup+w.Duration) + 2*time.Minute }

// refresh restarts the time after which a host undoes its treatment by itself, and
// makes a treatment again that it has undone meanwhile.
func (x *Experiment) refresh(ctx context.Context, w model.StudyWorkload) error {
	if len(x.stack) == 0 || x.stack[len(x.stack)-1].keep {
		return nil
	}
	top := x.stack[len(x.stack)-1]
	for i := range top.made {
		m := &top.made[i]
		m.plan.ConfirmWithin = deadMan(w)
		if _, err := m.host.agent.Apply(ctx, m.plan); err != nil {
			return fmt.Errorf("keep %s %s on %s: %w", top.factor, top.level.Name, m.host.Name, err)
		}
	}
	return nil
}

// byHand has an operator make a level, unless it is made already, and returns only
// when the fact shows it.
func (x *Experiment) byHand(ctx context.Context, l layer) error {
	if x.byLab(l) {
		return x.makeByLab(ctx, l)
	}
	name := l.name()
	for {
		is, now, err := x.verified(ctx, *l.level.Verify)
		if err != nil {
			return fmt.Errorf("see whether %s is made: %w", name, err)
		}
		if is {
			return nil
		}
		done := false
		if x.Operator != nil && !x.skipped[l.key] {
			instruct := fmt.Sprintf("%s: %s (%s of %s is %q and has to be %q)", name, l.level.Instruct, l.level.Verify.Fact, l.level.Verify.Host, now, l.level.Verify.Is)
			if done, err = x.ask(ctx, instruct); err != nil {
				return err
			}
		}
		if err := x.Record.Put(store.StudyEntry{Kind: store.StudyAsked, At: x.Now(), Factor: l.factor, Level: l.level.Name, Skipped: !done}); err != nil {
			return &recordError{err}
		}
		if x.skipped[l.key] = !done; !done {
			return &notInForceError{why: "not tried: no operator makes it", skipped: true, factor: l.factor, level: l.level.Name}
		}
		x.forget() // links and addresses may have changed
	}
}

// ask the operator; the time that this takes is not charged to the budget.
func (x *Experiment) ask(ctx context.Context, instruct string) (bool, error) {
	since := x.Now()
	defer func() { x.waited += x.Now().Sub(since) }()
	return x.Operator.Do(ctx, instruct)
}

// back has an operator take a level back, until the fact shows it.
func (x *Experiment) back(ctx context.Context, l layer) error {
	if x.byLab(l) {
		return x.takeBackByLab(ctx, l)
	}
	name := l.name()
	for {
		is, _, err := x.verified(ctx, *l.level.Verify)
		if err != nil {
			return fmt.Errorf("see whether %s is taken back: %w", name, err)
		}
		if !is {
			return nil
		}
		instruct := cmp.Or(l.level.Back, "take back: "+l.level.Instruct)
		if x.Operator == nil {
			return fmt.Errorf("take back %s: an operator has to do it: %s", name, instruct)
		}
		done, err := x.ask(ctx, name+": "+instruct)
		if err != nil {
			return err
		}
		if !done {
			return fmt.Errorf("take back %s: the operator did not do it: %s", name, instruct)
		}
		x.forget()
	}
}

// verified reads the fact that shows an operator's change. A fact that the host does
// not show, such as one of a mount that does not exist yet, does not hold.
func (x *Experiment) verified(ctx context.Context, v model.StudyVerify) (is bool, now string, err error) {
	h, err := x.host(v.Host)
	if err != nil {
		return false, "", err
	}
	f, err := h.agent.Facts(ctx)
	if err != nil {
		return false, "", fmt.Errorf("look at %s: %w", h.Name, err)
	}
	if is, now, err = file.Holds(f, v); err != nil {
		return false, "not to be seen: " + err.Error(), nil
	}
	return is, now, nil
}

// forget the routes between the hosts.
func (x *Experiment) forget() { clear(x.routes) }
