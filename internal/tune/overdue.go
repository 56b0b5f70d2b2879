package tune

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrRecord: what waits to be confirmed cannot be read. The plan counts as one that nobody
// confirmed.
var ErrRecord = errors.New("the record of what waits to be confirmed is damaged")

// overdue tells whether the time of a plan is over and its watcher did not act. Uptime decides
// where the host shows it: the wall clock may have been set meanwhile.
func (t *Tuner) overdue(w Waiting) bool {
	if !w.armed(t.BootID) {
		return false
	}
	if up := t.uptime(); up > 0 && w.Uptime > 0 {
		return up > w.Uptime
	}
	return t.now().After(w.Deadline)
}

func (t *Tuner) uptime() time.Duration {
	if t.Uptime == nil {
		return 0
	}
	return t.Uptime()
}

// Pending is a plan that waits for its confirmation, and what is wrong with that.
type Pending struct {
	Waiting
	Overdue bool // its time is over, and its changes are in force
	// Unwatched: its watcher is gone, so that nothing undoes it by itself.
	Unwatched bool
}

// Pending returns the plan that waits; false when none does. It changes nothing. A watcher
// that cannot be looked for counts as there.
func (t *Tuner) Pending(ctx context.Context) (Pending, bool, error) {
	w, ok, err := t.Waiting()
	if err != nil || !ok {
		return Pending{}, false, err
	}
	p := Pending{Waiting: w, Overdue: t.overdue(w)}
	if t.DeadMan != nil {
		there, err := t.DeadMan.Watching(ctx, w.Plan)
		p.Unwatched = err == nil && !there
	}
	return p, true, nil
}

// Alarm says what is wrong with a plan that waits, and what to do; "" where nothing is.
func (p Pending) Alarm() string {
	switch {
	case p.Overdue && p.Unwatched:
		return fmt.Sprintf("plan %s is overdue since %s UTC, its watcher is gone: its changes are in force; linerate tune undo puts them back", p.Plan, p.Deadline.UTC().Format(time.TimeOnly))
	case p.Overdue:
		return fmt.Sprintf("plan %s is overdue since %s UTC: to put its changes back, or to write down that they are, did not end well so far and is tried again; linerate tune undo says why", p.Plan, p.Deadline.UTC().Format(time.TimeOnly))
	case p.Unwatched:
		return fmt.Sprintf("plan %s waits to be confirmed until %s UTC, but its watcher is gone: nothing undoes it by itself then; confirm it or undo it now", p.Plan, p.Deadline.UTC().Format(time.TimeOnly))
	}
	return ""
}

// UndoOverdue undoes a plan whose time is over and whose watcher did not act, because it was
// killed or could not read the record. Where nothing waits it touches nothing. Another process
// at work is no error: it is the watcher, or comes to the same itself.
func (t *Tuner) UndoOverdue(ctx context.Context) error {
	w, ok, err := readWaiting(t.Dir)
	if err != nil || !ok || !t.overdue(w) {
		return err
	}
	s, err := t.begin()
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if errors.Is(err, ErrDamaged) {
		return t.expireFromScript(ctx, w)
	}
	if err != nil {
		return err
	}
	return errors.Join(s.undoOverdue(ctx), s.end())
}

// undoOverdue is UndoOverdue with the lock held.
func (s *session) undoOverdue(ctx context.Context) error {
	w, ok, err := readWaiting(s.Dir)
	if errors.Is(err, ErrRecord) || err == nil && (!ok || !s.overdue(w)) {
		return nil // a damaged record is the business of who works with it
	}
	if err != nil {
		return err
	}
	s.notes = append(s.notes, fmt.Sprintf("plan %s was overdue and its watcher gone: it was undone first", w.Plan))
	return s.expire(ctx, w)
}

// expire undoes a plan that nobody confirmed and writes down that it did.
func (s *session) expire(ctx context.Context, w Waiting) error {
	s.presume = true
	_, err := s.undo(ctx, s.open(UndoRequest{Plan: w.Plan}))
	s.presume = false
	w.V, w.BootID, w.Fired = waitingVersion, s.BootID, s.now()
	if err != nil {
		w.Left = err.Error()
	}
	return errors.Join(err, s.putWaiting(w))
}

// clearRecord removes a record that cannot be read once no change is open that it could be of.
func (s *session) clearRecord(cause error) error {
	if errors.Is(cause, ErrState) { // whoever put it there is to be known first
		return cause
	}
	if open := s.open(UndoRequest{}); len(open) > 0 {
		return fmt.Errorf("%w; %d changes are open: linerate tune undo puts them back and removes the record", cause, len(open))
	}
	if err := s.dir.root.Remove(waitingName); err != nil {
		return fmt.Errorf("remove the record of what waits to be confirmed: %w", err)
	}
	return s.dir.sync()
}

// expireFromScript is expire where the journal is damaged: it restores by undo.sh everything that
// was open, more than the plan, since nobody is there who could be asked, and may be cut off.
func (t *Tuner) expireFromScript(ctx context.Context, w Waiting) error {
	if _, err := t.undoFromScript(ctx, UndoRequest{}); err != nil {
		return err
	}
	s, err := t.begin()
	if err != nil {
		return err
	}
	w.V, w.BootID, w.Fired = waitingVersion, s.BootID, s.now()
	return errors.Join(s.putWaiting(w), s.end())
}
