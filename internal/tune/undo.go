package tune

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// Undo restores what a plan changed, newest first; an empty planID means
// everything that is open. Undoing twice, or what was never applied, does
// nothing. Entries of an earlier boot are closed without a write: the reboot
// undid them. An entry that cannot be restored does not keep the others from
// being restored.
//
// Errors: ErrBusy, *ConflictError for each value that somebody else changed
// since, or what a mechanism answered; joined.
func (t *Tuner) Undo(ctx context.Context, planID string) (res Result, err error) {
	res.Plan = planID
	s, err := t.begin()
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	var mine []Entry
	for _, e := range s.journal.entries {
		if e.open() && (planID == "" || e.Plan == planID) {
			mine = append(mine, e)
		}
	}
	res.Entries, err = s.undo(ctx, mine)
	return res, err
}

// undo restores entries backwards and brings undo.sh up to date.
func (s *session) undo(ctx context.Context, entries []Entry) ([]Entry, error) {
	var done []Entry
	var errs []error
	for _, e := range slices.Backward(entries) {
		if err := ctx.Err(); err != nil {
			errs = append(errs, fmt.Errorf("undo %s: %w", place(e), err))
			break
		}
		e, err := s.undoOne(ctx, e)
		done = append(done, e)
		errs = append(errs, err)
	}
	if len(entries) > 0 {
		errs = append(errs, s.writeScript())
	}
	return done, errors.Join(errs...)
}

func (s *session) undoOne(ctx context.Context, e Entry) (Entry, error) {
	if e.BootID != s.BootID {
		return s.settle(e, Closed)
	}
	set, err := s.setter(e.Setting)
	if err != nil {
		return e, fmt.Errorf("undo: %w", err)
	}
	at := place(e)
	now, err := s.read(ctx, set, at, e.Before)
	if err != nil {
		return e, fmt.Errorf("undo: %w", err)
	}
	switch now {
	case e.Before:
		return s.settle(e, Undone)
	case e.ours():
	default:
		e, err := s.settle(e, Conflict)
		return e, errors.Join(err, &ConflictError{
			Where: at.String(), Ours: e.ours(), Theirs: now, Original: e.Before, Script: filepath.Join(s.Dir, scriptName),
		})
	}
	if err := s.write(ctx, set, at, e.Before); err != nil {
		return e, fmt.Errorf("undo: %w", err)
	}
	now, err = s.read(ctx, set, at, e.Before)
	if err != nil {
		return e, fmt.Errorf("undo: %w", err)
	}
	if now != e.Before {
		return e, fmt.Errorf("undo: %w", &NotInForceError{Where: at.String(), Wanted: e.Before, Got: now})
	}
	return s.settle(e, Undone)
}

// settle records a new state.
func (s *session) settle(e Entry, state State) (Entry, error) {
	if e.State == state {
		return e, nil
	}
	e.State = state
	return e, s.put(e)
}
