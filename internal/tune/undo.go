package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/tune/file"
	"linerate/internal/tune/setter"
)

// UndoRequest says what is to be restored.
type UndoRequest struct {
	Plan string `json:"plan,omitempty"` // its id; empty is every plan
	// To is a checkpoint, the seq of a journal entry: only what is newer is
	// restored. 0 is the state before the first change.
	To int `json:"to,omitempty"`
	// Force restores a value also where somebody else changed it since.
	Force bool `json:"force,omitempty"`
	// FromScript restores by undo.sh, everything that is open, where the journal
	// is damaged; where it is whole, that is what is restored from.
	FromScript bool `json:"from_script,omitempty"`
}

// Undo restores what a plan changed, newest first; an empty planID means
// everything that is open. See UndoWith.
func (t *Tuner) Undo(ctx context.Context, planID string) (Result, error) {
	return t.UndoWith(ctx, UndoRequest{Plan: planID})
}

// UndoWith restores what r names, newest first. Undoing twice, or what was
// never applied, does nothing. Runtime values of an earlier boot are closed
// without a write: the reboot undid them; files are restored whatever the
// boot. An entry that cannot be restored does not keep the others from being
// restored. A dead-man that waits for what was restored is disarmed.
//
// Errors: ErrBusy, *ConflictError for each value that somebody else changed
// since, *BeneathError for each that a later change of linerate's is in force over, or what a mechanism answered; joined.
func (t *Tuner) UndoWith(ctx context.Context, r UndoRequest) (res Result, err error) {
	res.Plan = r.Plan
	if _, err := os.Stat(t.Dir); errors.Is(err, fs.ErrNotExist) && r.To == 0 {
		return res, nil // nothing was ever changed: nothing is left behind for it
	}
	s, err := t.begin()
	if r.FromScript && errors.Is(err, ErrDamaged) {
		return t.undoFromScript(ctx, r)
	}
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	switch n := len(s.journal.entries); {
	case r.To > 0 && n == 0:
		return res, fmt.Errorf("undo to checkpoint %d: the journal is empty", r.To)
	case r.To < 0 || r.To > n:
		return res, fmt.Errorf("undo to checkpoint %d: the journal has 1 to %d, and 0 for all of it", r.To, n)
	}
	s.force = r.Force
	res.Entries, err = s.undo(ctx, s.open(r))
	res.Notes = s.notes
	return res, errors.Join(err, s.disarmUndone(ctx))
}

// open lists the open entries that r names, oldest first.
func (s *session) open(r UndoRequest) []Entry {
	var mine []Entry
	for _, e := range s.journal.entries {
		if e.open() && (r.Plan == "" || e.Plan == r.Plan) && e.Seq > r.To {
			mine = append(mine, e)
		}
	}
	return mine
}

// disarmUndone disarms the dead-man when nothing is left for it to undo.
func (s *session) disarmUndone(ctx context.Context) error {
	w, ok, err := readWaiting(s.Dir)
	if errors.Is(err, ErrRecord) {
		return s.clearRecord(err)
	}
	// Where the record cannot be removed either, its watcher finds nothing that is changed.
	if err != nil || !ok || s.journal.unwritten != nil || len(s.open(UndoRequest{Plan: w.Plan})) > 0 {
		return err
	}
	return s.disarm(ctx, w.Plan)
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
		e, err := s.undoOne(ctx, e, s.first(entries, e).Before)
		done = append(done, e)
		errs = append(errs, err)
	}
	// Also when there was nothing to do: a process that was killed may have
	// undone all and not have come to this.
	if err := s.journal.unwritten; err != nil {
		s.notes = append(s.notes, fmt.Sprintf("%s could not be written (%v): what was restored is not written down; when it can be written again, linerate tune undo finds the values as they were and writes it down", s.dir.full(journalName), err))
		return done, errors.Join(errs...)
	}
	errs = append(errs, s.writeScript())
	return done, errors.Join(errs...)
}

// first is the oldest of entries in the place of e that is in force: what was there before it was
// there before linerate came. What a restart undid does not count: its original is of another boot.
func (s *session) first(entries []Entry, e Entry) Entry {
	for _, o := range entries {
		if o.Open(s.BootID) && samePlace(o, e) {
			return o
		}
	}
	return e
}

// samePlace reports whether two entries are of one setting of one thing. Of interfaces in one boot
// their numbers and their hardware tell, as an undo goes by them: one may have been renamed in between.
func samePlace(a, b Entry) bool {
	name, ok := setter.InterfaceNamed(place(b))
	if !ok || a.Index == 0 || b.Index == 0 || a.BootID != b.BootID {
		return place(a) == place(b)
	}
	same := setter.Renamed(place(a), name) == place(b) && a.Index == b.Index
	return same && (b.Hardware == "" || a.meant(Interface{Name: name, Hardware: b.Hardware}))
}

// above is the newest change of the same place that is in force over e. Restored beneath it, e
// would be lost: whoever restores that one later puts there what e had changed.
func (s *session) above(e Entry) (Entry, bool) {
	for _, o := range slices.Backward(s.journal.entries[e.Seq:]) {
		if o.Open(s.BootID) && samePlace(o, e) {
			return o, true
		}
	}
	return Entry{}, false
}

// undoOne restores what e changed. original is what was there before the oldest change that is
// restored with it: to have that is to have e restored.
func (s *session) undoOne(ctx context.Context, e Entry, original string) (Entry, error) {
	if !e.Open(s.BootID) {
		return s.settle(e, Closed)
	}
	if o, ok := s.above(e); ok {
		return e, &BeneathError{Where: place(e).String(), Plan: o.Plan, Seq: o.Seq}
	}
	set, err := s.mechanism(e.Setting)
	if err != nil {
		return e, fmt.Errorf("undo: %w", err)
	}
	at, now, err := s.found(ctx, set, e)
	if err != nil && vanished(err) && s.force {
		s.notes = append(s.notes, place(e).String()+" is gone with its device: nothing was written")
		return s.settle(e, Closed)
	}
	if err != nil {
		return e, undoError(err)
	}
	was := e
	if now != e.ours() {
		e.Found = now
	}
	if now == e.Before || now == original || e.Origin != "" && now == e.Origin {
		e.Unwritten = true
		return s.settle(e, Undone)
	}
	known := now == e.ours() || s.presume && e.State == Intended
	if !known && !s.force {
		e, err := s.settle(was, Conflict)
		return e, errors.Join(err, &ConflictError{
			Where: at.String(), Ours: e.ours(), Theirs: now, Original: original, Script: filepath.Join(s.Dir, scriptName),
		})
	}
	if err := s.restore(ctx, set, at, e.Before); err != nil {
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

func (s *session) restore(ctx context.Context, set setter.Setter, at setter.Place, before string) error {
	back, ok := set.(setter.Restorer)
	if !ok {
		return s.write(ctx, set, at, before)
	}
	if err := s.step("write"); err != nil {
		return err
	}
	aside, err := back.Restore(ctx, at, before)
	if err != nil {
		return err
	}
	if aside != "" {
		s.notes = append(s.notes, aside)
	}
	return s.step("after write")
}

// found is where the value of an entry is, and what it is.
func (s *session) found(ctx context.Context, set setter.Setter, e Entry) (setter.Place, string, error) {
	at, err := s.locate(ctx, e)
	if err != nil {
		return at, "", err
	}
	now, err := s.read(ctx, set, at, e.Before)
	return at, now, err
}

func undoError(err error) error {
	if vanished(err) {
		return fmt.Errorf("undo: %w. Undo again when it is back; if it never will be, its value is gone with it: --force closes the entry", err)
	}
	return fmt.Errorf("undo: %w", err)
}

// settle records a new state.
func (s *session) settle(e Entry, state State) (Entry, error) {
	if e.State == state {
		return e, nil
	}
	e.State = state
	if e.open() {
		return e, s.put(e)
	}
	e.Ended = s.now()
	if state == Undone && file.Sets(e.Setting) && e.BootID != s.BootID {
		s.notes = append(s.notes, strings.TrimPrefix(e.Setting, file.Prefix)+" is as it was; what it has set since the restart stays in force until the next")
	}
	return e, errors.Join(s.tidy(e), s.put(e))
}
