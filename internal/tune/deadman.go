package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"linerate/internal/model"
)

// DeadMan has a process watch over a plan that does not depend on this one, on
// its connection or on its parents. The watcher calls Tuner.Watch.
type DeadMan interface {
	// Arm starts the watcher and returns once it is known to be alive. It
	// is to act after within at the latest. The notes are what the user has
	// to know of how independent it is.
	Arm(ctx context.Context, plan string, within time.Duration) (notes []string, err error)
	// Disarm takes away what Arm left. The watcher does nothing any more by
	// then: that its record is gone tells it so.
	Disarm(ctx context.Context, plan string) error
	// Watching tells whether what Arm started is still there to act.
	Watching(ctx context.Context, plan string) (bool, error)
}

// Waiting is a plan that waits for its confirmation, or what became of it, as
// deadman.json of the state directory has it. That file alone decides: no file,
// no undo.
type Waiting struct {
	V        int           `json:"v"`
	Plan     string        `json:"plan"`
	BootID   string        `json:"boot_id"`
	PID      int           `json:"pid"`       // of who applies it
	Turn     int           `json:"turn"`      // grows when Within begins anew
	Within   time.Duration `json:"within_ns"` // from the beginning of this turn
	Deadline time.Time     `json:"deadline"`  // the same by the host's clock, which may be set meanwhile
	// Uptime is the same by the time since the host started; 0: it is not known.
	Uptime time.Duration `json:"uptime_ns,omitempty"`
	Fired  time.Time     `json:"fired,omitzero"`
	Left   string        `json:"left,omitempty"` // what could not be put back then
}

const (
	waitingVersion = 1
	waitingName    = "deadman.json"
	maxWaiting     = 1 << 20 // bounds what is read of it
)

// Waiting returns the plan that waits for its confirmation; false when none
// does.
func (t *Tuner) Waiting() (Waiting, bool, error) {
	w, ok, err := readWaiting(t.Dir)
	return w, ok && w.armed(t.BootID), err
}

func (w Waiting) armed(bootID string) bool { return w.Fired.IsZero() && w.BootID == bootID }

func readWaiting(dir string) (Waiting, bool, error) {
	path := filepath.Join(dir, waitingName)
	d, err := openState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Waiting{}, false, nil
	}
	if err != nil {
		return Waiting{}, false, fmt.Errorf("read what waits to be confirmed: %w", err)
	}
	defer d.close() // only read: a close that fails loses nothing
	b, err := d.read(waitingName, maxWaiting)
	if errors.Is(err, fs.ErrNotExist) {
		return Waiting{}, false, nil
	}
	if err != nil { // a link, a directory, a disk that does not give it back
		return Waiting{}, false, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	w, err := parseWaiting(b, path)
	return w, err == nil, err
}

// parseWaiting reads a record that lies at path. What is no record, or names no plan, is
// ErrRecord.
func parseWaiting(b []byte, path string) (w Waiting, err error) {
	if err := json.Unmarshal(b, &w); err != nil {
		return Waiting{}, fmt.Errorf("%w, %s: %w", ErrRecord, path, err)
	}
	switch {
	case w.V != waitingVersion:
		return Waiting{}, fmt.Errorf("%w, %s: version %d, this linerate knows %d", ErrRecord, path, w.V, waitingVersion)
	case w.Plan == "" || w.Within < 0 || w.Uptime < 0 || w.Turn < 0:
		return Waiting{}, fmt.Errorf("%w, %s: it names no plan, or a time below 0", ErrRecord, path)
	}
	return w, nil
}

// putWaiting replaces the record in one step.
func (s *session) putWaiting(w Waiting) error {
	if err := s.step("waiting"); err != nil {
		return err
	}
	b, err := json.Marshal(w)
	if err == nil {
		err = s.dir.replace(waitingName, 0o600, bytes.NewReader(append(b, '\n')))
	}
	if err != nil {
		return fmt.Errorf("write down what waits to be confirmed: %w", err)
	}
	return nil
}

// arm has the dead-man watch from here on, before anything is written.
func (s *session) arm(ctx context.Context, p model.Plan) error {
	within := p.DeadMan()
	if within == 0 {
		return nil
	}
	if s.DeadMan == nil {
		return fmt.Errorf("%w %s: nothing here could undo it unless it is confirmed", ErrPlan, p.ID)
	}
	w := Waiting{
		V: waitingVersion, Plan: p.ID, BootID: s.BootID, PID: os.Getpid(),
		Turn: 1, Within: within,
	}
	s.setDeadline(&w)
	if err := s.putWaiting(w); err != nil {
		return err
	}
	if err := s.armStep(ctx, p.ID, within); err != nil {
		return errors.Join(fmt.Errorf("arm the dead-man: %w: nothing was changed", err), s.disarm(ctx, p.ID))
	}
	return nil
}

func (s *session) armStep(ctx context.Context, plan string, within time.Duration) error {
	if err := s.step("arm"); err != nil {
		return err
	}
	notes, err := s.DeadMan.Arm(ctx, plan, within)
	s.notes = append(s.notes, notes...)
	return err
}

// extend lets the time for the confirmation begin now that all is applied. If
// that cannot be written down, the first deadline stands.
func (s *session) extend(p model.Plan) (time.Time, error) {
	w, ok, err := readWaiting(s.Dir)
	if err != nil || !ok || w.Plan != p.ID {
		return time.Time{}, err
	}
	w.Turn++
	s.setDeadline(&w)
	return w.Deadline, s.putWaiting(w)
}

// setDeadline has the time of a turn begin now.
func (s *session) setDeadline(w *Waiting) {
	w.Deadline = s.now().Add(w.Within)
	if up := s.uptime(); up > 0 {
		w.Uptime = up + w.Within
	}
}

// disarm forgets what waits for this plan's confirmation; any plan's when plan
// is empty.
func (s *session) disarm(ctx context.Context, plan string) error {
	w, ok, err := readWaiting(s.Dir)
	if err != nil || !ok || plan != "" && w.Plan != plan {
		return err
	}
	if err := s.step("disarm"); err != nil {
		return err
	}
	if err := s.dir.root.Remove(waitingName); err != nil {
		return fmt.Errorf("disarm the dead-man: %w", err)
	}
	if err := s.dir.sync(); err != nil {
		return fmt.Errorf("disarm the dead-man: %w", err)
	}
	if s.DeadMan == nil {
		return nil
	}
	return s.DeadMan.Disarm(ctx, w.Plan)
}

// unconfirmed refuses to work on top of a plan that may be undone any moment.
// What is left of an earlier boot, or of a watcher that has acted, is cleared.
func (s *session) unconfirmed(ctx context.Context, plan string) error {
	if err := s.undoOverdue(ctx); err != nil {
		return err
	}
	w, ok, err := readWaiting(s.Dir)
	if errors.Is(err, ErrRecord) {
		return s.clearRecord(err)
	}
	if err != nil || !ok {
		return err
	}
	if !w.armed(s.BootID) {
		return s.disarm(ctx, w.Plan)
	}
	if w.Plan == plan {
		return nil
	}
	return fmt.Errorf("%w: %s, until %s: confirm or undo it first", ErrUnconfirmed, w.Plan, w.Deadline.Format(time.TimeOnly))
}

// confirmWait is how long Confirm waits for somebody who is at work, who may
// be the watcher.
const confirmWait = 5 * time.Second

// Confirm keeps what a plan changed: the host does not undo it by itself any
// more. Confirming twice, or what nobody waits for, is no error as long as the
// plan is in force.
//
// Errors: ErrTooLate when the host has undone it, ErrBusy, ErrPlan when no
// change of such a plan is open.
func (t *Tuner) Confirm(ctx context.Context, planID string) (err error) {
	s, err := t.beginWithin(ctx, confirmWait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	if err := s.undoOverdue(ctx); err != nil {
		return fmt.Errorf("%w %s, and its watcher is gone: %w", ErrTooLate, planID, err)
	}
	w, ok, err := readWaiting(s.Dir)
	if errors.Is(err, ErrRecord) {
		return fmt.Errorf("confirm %s: %w; linerate tune undo puts back what is open", planID, err)
	}
	if err != nil {
		return err
	}
	if ok && w.Plan == planID && !w.Fired.IsZero() {
		err := fmt.Errorf("%w %s: the host undid it at %s, as nobody had confirmed it", ErrTooLate, planID, w.Fired.Format(time.RFC3339))
		if w.Left != "" {
			err = fmt.Errorf("%w; not put back: %s", err, w.Left)
		}
		return err
	}
	for _, e := range s.journal.entries {
		if e.Plan == planID && e.Open(s.BootID) {
			return s.disarm(ctx, planID)
		}
	}
	return fmt.Errorf("%w %s: nothing that it changed is in force: see the history", ErrPlan, planID)
}

// beginWithin is begin that waits for another holder of the lock.
func (t *Tuner) beginWithin(ctx context.Context, patience time.Duration) (*session, error) {
	const between = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		s, err := t.begin()
		if !errors.Is(err, ErrBusy) {
			return s, err
		}
		timer := time.NewTimer(between)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}
