package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
	"linerate/internal/unit"
)

// prove makes the one change and measures its gain in interleaved pairs. If neither linerate
// nor an operator can remove the limiter, it does nothing.
func (l *Loop) prove(ctx context.Context, rec *Record) error {
	t, by := l.treatment(rec)
	if t == nil {
		return nil
	}
	measured := func(ctx context.Context, label string) (unit.BitRate, error) {
		run, err := l.pair(ctx, label)
		if err != nil {
			return 0, err
		}
		rec.Results.Runs = append(rec.Results.Runs, run)
		return run.Goodput, nil
	}
	proof, err := l.pairs(ctx, study.Options{
		AAPairs: l.Timing.AAPairs, Seed: l.Seed, Undo: undoTimeout,
		Progress: func(done, total int, label string) {
			if done < total {
				l.say("proving: run %d of %d (%s)", done+1, total, label)
			}
		},
	}, t, measured)
	if errors.Is(err, errNothingFound) {
		rec.Results.Warnings = append(rec.Results.Warnings, model.Warning{
			ID: "advice-found-nothing", What: "the operator followed the advice and found nothing to remove: doubt this verdict",
			Evidence: string(rec.Results.Verdict.Limiter), Next: "look at the alternatives that the verdict names",
		})
		return nil
	}
	var not *tune.NotInForceError
	if errors.As(err, &not) {
		rec.Results.Proof = &model.Proof{Effect: study.NotInForce, By: by, Treatment: t.String(), Warnings: []string{not.Error()}}
		return nil
	}
	if err != nil {
		return fmt.Errorf("prove the change: %w", err)
	}
	proof.By = by
	proof.Treatment = t.String()
	rec.Results.Proof = &proof
	return nil
}

// pairs makes a proof: of a fixed number of pairs, or of as many as the planned
// looks ask for.
func (l *Loop) pairs(ctx context.Context, o study.Options, t study.Treatment, m study.Measure) (model.Proof, error) {
	if len(l.Timing.Looks) == 0 {
		l.say("proving: %d A/A pairs, then %d randomised interleaved pairs of %s runs", o.AAPairs, l.Timing.Pairs, l.Timing.Pair)
		o.Pairs = l.Timing.Pairs
		series, err := study.RunPairs(ctx, o, t, m)
		if err != nil {
			return model.Proof{}, err
		}
		return study.Prove(series)
	}
	l.say("proving: %d A/A pairs, then randomised interleaved pairs of %s runs, with looks after %v", o.AAPairs, l.Timing.Pair, l.Timing.Looks)
	seq, err := study.NewSequence(study.SequenceAlpha, o.Seed, l.Timing.Looks...)
	if err != nil {
		return model.Proof{}, err
	}
	return study.RunLooks(ctx, o, seq, t, m)
}

// undoTimeout bounds an undo that must run although the study was cancelled.
const undoTimeout = 10 * time.Second

// treatment chooses who acts on the verdict, linerate or the operator; nil: neither
// can.
func (l *Loop) treatment(rec *Record) (interface {
	study.Treatment
	fmt.Stringer
}, string) {
	v := rec.Results.Verdict
	switch {
	case v.Fix.Kind == model.FixSetting:
		return &settingTreatment{loop: l, rec: rec, fix: v.Fix}, "linerate"
	case v.Fix.Kind == model.FixOperator && l.Operator != nil:
		return &operatorTreatment{operator: l.Operator, limiter: v.Limiter, advice: v.Fix.Advice}, "lab operator"
	}
	return nil, ""
}

// settingTreatment applies one setting through the changed host's journal.
type settingTreatment struct {
	loop *Loop
	rec  *Record
	fix  model.Fix
	n    int
	open string // id of the applied plan
}

func (t *settingTreatment) String() string {
	return fmt.Sprintf("%s on %s: %s → %s", t.fix.Setting, t.fix.Host, t.fix.From, t.fix.To)
}

func (t *settingTreatment) agent() (Agent, error) {
	for _, e := range []End{t.loop.Sender, t.loop.Receiver} {
		if e.Name == t.fix.Host {
			return e.Agent, nil
		}
	}
	return nil, fmt.Errorf("apply %s: the verdict names host %q, which is not of this path", t.fix.Setting, t.fix.Host)
}

// Apply implements study.Treatment.
func (t *settingTreatment) Apply(ctx context.Context) error {
	a, err := t.agent()
	if err != nil {
		return err
	}
	t.n++
	id := fmt.Sprintf("%s-%d", t.loop.Now().UTC().Format("20060102T150405"), t.n)
	plan, err := planOf(id, t.rec)
	if err != nil {
		return err
	}
	t.open, plan.ConfirmWithin = id, t.loop.DeadMan
	if _, err := a.Apply(ctx, plan); err != nil {
		return err
	}
	if t.n == 1 {
		t.rec.Results.Changes = append(t.rec.Results.Changes, plan.Changes...)
	}
	return nil
}

// planOf is the plan of the verdict's fix. An end has the name that it was reached by,
// lab:server1; its facts have the host's own name.
func planOf(id string, rec *Record) (model.Plan, error) {
	v := rec.Results.Verdict
	f := rec.Facts[v.Fix.Host]
	if f == nil {
		return model.Plan{}, fmt.Errorf("plan %s: the verdict names host %q, which is not of this path", v.Fix.Setting, v.Fix.Host)
	}
	v.Fix.Host = f.Host
	row, err := tune.FixRow(f, v)
	if err != nil {
		return model.Plan{}, err
	}
	return tune.NewPlan(id, f, 0, []profile.Row{row})
}

// Undo implements study.Treatment.
func (t *settingTreatment) Undo(ctx context.Context) error {
	if t.open == "" {
		return nil
	}
	a, err := t.agent()
	if err != nil {
		return err
	}
	if _, err := a.Undo(ctx, t.open); err != nil {
		t.rec.Results.Restored = false
		return fmt.Errorf("undo %s on %s: %w", t.fix.Setting, t.fix.Host, err)
	}
	t.open = ""
	return nil
}

// operatorTreatment lets the operator act on the advice.
type operatorTreatment struct {
	operator Operator
	limiter  model.LimiterID
	advice   string
}

func (t *operatorTreatment) String() string { return t.advice }

// Apply implements study.Treatment.
func (t *operatorTreatment) Apply(ctx context.Context) error {
	found, err := t.operator.Remove(ctx, t.limiter)
	if err != nil {
		return err
	}
	if !found {
		return errNothingFound
	}
	return nil
}

// errNothingFound: the operator followed the advice and found nothing wrong. The verdict is
// then wrong, or the cause is elsewhere.
var errNothingFound = errors.New("the operator followed the advice and found nothing to remove")

// Undo implements study.Treatment.
func (t *operatorTreatment) Undo(ctx context.Context) error { return t.operator.PutBack(ctx) }

// checkRestored reads both hosts again and compares every setting and feature with
// what was read before the first change.
func (l *Loop) checkRestored(ctx context.Context, rec *Record) error {
	if len(rec.Results.Changes) == 0 {
		return nil
	}
	after := map[string]*model.Facts{}
	if err := l.look(context.WithoutCancel(ctx), after); err != nil {
		rec.Results.Restored = false
		return fmt.Errorf("check that everything was put back: %w", err)
	}
	for host, before := range rec.Facts {
		for _, d := range Differences(before, after[host]) {
			rec.Results.Restored = false
			rec.Results.Warnings = append(rec.Results.Warnings, model.Warning{
				ID: "not-restored", What: fmt.Sprintf("%s on %s", d, host),
				Next: "set it back by hand, or run undo.sh beside the journal of that host",
			})
		}
	}
	if !rec.Results.Restored {
		return fmt.Errorf("check that everything was put back: %d settings differ from before", len(rec.Results.Warnings))
	}
	return nil
}

// Differences lists settings and NIC features that changed, sorted.
func Differences(before, after *model.Facts) []string {
	var out []string
	for id, b := range before.Settings {
		if a := after.Settings[id]; a != b {
			out = append(out, fmt.Sprintf("%s was %q and is %q", id, b.Value, a.Value))
		}
	}
	now := map[string]model.NIC{}
	for _, n := range after.NICs {
		now[n.Device] = n
	}
	for _, n := range before.NICs {
		a := now[n.Device]
		if a.MTU != n.MTU {
			out = append(out, fmt.Sprintf("MTU of %s was %d and is %d", n.Name, n.MTU, a.MTU))
		}
		for f, on := range n.Features.Value {
			if a.Features.Value[f] != on {
				out = append(out, fmt.Sprintf("feature %s of %s was %v and is %v", f, n.Name, on, !on))
			}
		}
	}
	slices.Sort(out)
	return out
}
