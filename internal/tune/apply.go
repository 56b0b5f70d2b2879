package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"linerate/internal/model"
	"linerate/internal/tune/file"
	"linerate/internal/tune/setter"
)

// rollbackTime bounds undoing a plan that failed half way, which also happens
// after ctx is done.
const rollbackTime = 30 * time.Second

// step is one change of a plan with its mechanism and canonical values.
type step struct {
	set      setter.Setter
	at       setter.Place
	from, to string
	origin   string // Entry.Origin
}

// Apply executes a plan: all of it, or, when any step fails, none of it. A
// change that this plan already made and that is still in force is left as it
// is, so applying twice is applying once. The changes are made in the order of
// Order.
//
// Where the plan is to be confirmed, the dead-man is armed and known to be
// alive before the first write, and Result.Deadline says until when. It stays
// armed when a failed plan could not be put back in full.
//
// Errors: ErrPlan (not executable as it stands), ErrBusy, ErrUnconfirmed,
// *ChangedError (a value is no longer what was planned on; nothing was
// touched), *NotInForceError (the kernel did not do what was asked), or what a
// mechanism answered; joined with what went wrong while undoing.
func (t *Tuner) Apply(ctx context.Context, p model.Plan) (res Result, err error) {
	res.Plan = p.ID
	steps, err := t.check(p)
	if err != nil {
		return res, err
	}
	s, err := t.begin()
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.unconfirmed(ctx, p.ID); err != nil {
		return res, err
	}
	todo, err := s.pending(ctx, p.ID, steps)
	if err != nil {
		return res, err
	}
	if len(todo) > 0 {
		if err := s.shellable(todo); err != nil {
			return res, err
		}
		if err := s.arm(ctx, p); err != nil {
			return res, errors.Join(err, s.writeScript()) // which removes a copy that nothing needs
		}
		res.Notes = s.notes
	}
	for i, st := range todo {
		// Nobody waits for it any more, so that nobody would undo it.
		if err := ctx.Err(); err != nil {
			return s.rollback(ctx, p, res, fmt.Errorf("apply: %w", err))
		}
		e, err := s.applyOne(ctx, p, st)
		if e.Seq > 0 {
			res.Entries = append(res.Entries, e)
		}
		if err == nil {
			err = s.follow(ctx, st, todo[i+1:])
		}
		if err != nil {
			return s.rollback(ctx, p, res, err)
		}
	}
	res.Changes = outcomes(p, s.journal.entries, s.BootID)
	res.Deadline, err = s.extend(p)
	return res, err
}

// check refuses what no kernel needs to be asked about.
func (t *Tuner) check(p model.Plan) ([]step, error) {
	if p.V != model.PlanVersion {
		return nil, fmt.Errorf("%w: version %d, this linerate executes %d", ErrPlan, p.V, model.PlanVersion)
	}
	if p.ID == "" {
		return nil, fmt.Errorf("%w: it has no id, so it could not be undone by name", ErrPlan)
	}
	if p.BootID != t.BootID {
		return nil, fmt.Errorf("%w %s: the host was restarted since: look at it again and make a new plan", ErrPlan, p.ID)
	}
	seen := map[setter.Place]bool{}
	var steps []step
	for _, c := range Order(p.Changes) {
		st, err := t.checkChange(c)
		if err != nil {
			return nil, fmt.Errorf("%w %s: %w", ErrPlan, p.ID, err)
		}
		if seen[st.at] {
			return nil, fmt.Errorf("%w %s: it changes %s twice", ErrPlan, p.ID, st.at)
		}
		seen[st.at] = true
		steps = append(steps, st)
	}
	return steps, nil
}

func (t *Tuner) checkChange(c model.Change) (step, error) {
	set, err := t.setter(c.Setting)
	if err != nil {
		return step{}, err
	}
	st := step{set: set, at: setter.Place{Setting: c.Setting, Target: c.Target}}
	if st.from, err = set.Canonical(st.at, c.From); err != nil {
		return step{}, err
	}
	st.to, err = set.Canonical(st.at, c.To)
	return st, err
}

// pending returns the steps still to be made, having looked at every value
// before any is touched.
func (s *session) pending(ctx context.Context, plan string, steps []step) ([]step, error) {
	var todo []step
	for _, st := range steps {
		now, err := s.read(ctx, st.set, st.at, st.to)
		if err != nil {
			return nil, err
		}
		if s.made(plan, st, now) {
			continue
		}
		if err := s.unchanged(ctx, st); err != nil {
			return nil, err
		}
		todo = append(todo, st)
	}
	return todo, nil
}

// made tells whether the plan made this step earlier and it is in force.
func (s *session) made(plan string, st step, now string) bool {
	for _, e := range s.journal.entries {
		if e.open() && e.Plan == plan && e.BootID == s.BootID && place(e) == st.at && e.Wanted == st.to && now == st.to {
			return true
		}
	}
	return false
}

func (s *session) unchanged(ctx context.Context, st step) error {
	now, err := s.read(ctx, st.set, st.at, st.from)
	if err != nil {
		return err
	}
	if now != st.from {
		return &ChangedError{Where: st.at.String(), Planned: st.from, Found: now}
	}
	return nil
}

// mostBy is the longest that a plan may say of whom it is for.
const mostBy = 200

// forWhom is who changes, and whom a plan says it is for: text of another host, cut to a line.
func forWhom(by, plan string) string {
	plan = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, plan)
	if plan == "" {
		return by
	}
	if all := []rune(plan); len(all) > mostBy {
		plan = string(all[:mostBy]) + "…"
	}
	return by + ", for " + plan
}

// applyOne makes one change, write-ahead. An entry with a Seq needs undoing.
func (s *session) applyOne(ctx context.Context, p model.Plan, st step) (Entry, error) {
	if err := s.unchanged(ctx, st); err != nil {
		return Entry{}, err
	}
	before, err := s.read(ctx, st.set, st.at, st.to)
	if err != nil {
		return Entry{}, err
	}
	index, hardware, err := s.interfaceOf(ctx, st.at)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		V: EntryVersion, Seq: len(s.journal.entries) + 1, Plan: p.ID, BootID: s.BootID, By: forWhom(s.By, p.By), At: s.now(),
		Target: st.at.Target, Setting: st.at.Setting, Before: before, Wanted: st.to, State: Intended,
		Origin: st.origin, Persisted: outlasts(st.at.Setting), Index: index, Hardware: hardware,
	}
	if err := s.put(e); err != nil {
		return Entry{}, err
	}
	if err := s.writeScript(); err != nil {
		return e, err
	}
	writeErr := s.write(ctx, st.set, st.at, st.to)
	after, err := s.read(ctx, st.set, st.at, st.to)
	if err != nil {
		return e, errors.Join(writeErr, err)
	}
	e.After, e.State = after, Applied
	if err := errors.Join(writeErr, s.put(e)); err != nil {
		return e, err
	}
	if after != st.to {
		return e, &NotInForceError{Where: st.at.String(), Wanted: st.to, Got: after}
	}
	return e, nil
}

// outlasts tells whether a change is still there after a restart of the host:
// that of a file, and of what its mechanism keeps on disk by itself.
func outlasts(setting string) bool {
	return strings.HasPrefix(setting, file.Prefix) || setter.NatureOf(setting).Outlasts
}

// follow takes up what a write did to the settings of the same device that are
// still to be changed: new channels come with a new RSS table.
func (s *session) follow(ctx context.Context, done step, todo []step) error {
	for i := range todo {
		if done.at.Target == "" || todo[i].at.Target != done.at.Target {
			continue
		}
		now, err := s.read(ctx, todo[i].set, todo[i].at, todo[i].from)
		if err != nil {
			return err
		}
		if now == todo[i].from {
			continue
		}
		if todo[i].origin == "" {
			todo[i].origin = todo[i].from
		}
		todo[i].from = now
	}
	return nil
}

// rollback undoes what this call of Apply did.
func (s *session) rollback(ctx context.Context, p model.Plan, res Result, cause error) (Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	undone, err := s.undo(ctx, res.Entries)
	res.Entries = undone
	res.Changes = outcomes(p, s.journal.entries, s.BootID)
	if err != nil {
		err = fmt.Errorf("undo what was done so far: %w", err)
	}
	return res, errors.Join(cause, err, s.disarmUndone(ctx))
}

// outcomes says what became of each change of a plan.
func outcomes(p model.Plan, entries []Entry, bootID string) []Outcome {
	out := make([]Outcome, len(p.Changes))
	for i, c := range p.Changes {
		out[i] = Outcome{Setting: c.Setting, Target: c.Target, Effective: "no"}
		for _, e := range entries {
			if e.Plan == p.ID && e.Open(bootID) && e.Setting == c.Setting && e.Target == c.Target {
				out[i].Applied = e.State == Applied && e.After == e.Wanted
			}
		}
		if out[i].Applied {
			out[i].Effective = effective(c)
		}
	}
	return out
}

// effective tells from what a change needs whether it is in effect once it is
// applied.
func effective(c model.Change) string {
	if c.Needs == "" || c.Needs == model.NeedsFlap {
		return "yes"
	}
	return "later: " + c.Needs
}
