package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Times of a watcher.
const (
	watchEvery = 500 * time.Millisecond
	// watchGrace is how long after the deadline a process that applies the
	// plan may still hold the lock. Then it hangs, and is ended.
	watchGrace = 30 * time.Second
	// A device that is away comes back when its link does.
	watchRetries = 60
	watchPause   = 5 * time.Second
)

// Watch is the dead-man: it waits until the plan is confirmed or undone, or its
// time is over, and then undoes what it changed. It returns what could not be
// put back after many tries; that stays open.
//
// The time is counted by this process's own clock from when it first sees the
// record's turn, and never beyond Within: setting the host's clock neither
// shortens nor lengthens it by more. A record that cannot be read means that nobody confirmed:
// the time that was seen before stands, and without one it is over.
func (t *Tuner) Watch(ctx context.Context, planID string) error {
	w, ok, err := t.wait(ctx, planID)
	if err != nil || !ok {
		return err
	}
	for try := 1; ; try++ {
		again, err := t.fire(ctx, w, try == watchRetries)
		if again { // its time began anew while the lock was not ours
			return t.Watch(ctx, planID)
		}
		var conflict *ConflictError
		if err == nil || errors.As(err, &conflict) || try == watchRetries || ctx.Err() != nil {
			return err
		}
		if err := pause(ctx, watchPause); err != nil {
			return err
		}
	}
}

// wait returns true when the plan's time is over.
func (t *Tuner) wait(ctx context.Context, planID string) (Waiting, bool, error) {
	turn, end, last := 0, time.Time{}, Waiting{Plan: planID}
	for {
		w, ok, err := readWaiting(t.Dir)
		if errors.Is(err, ErrRecord) {
			w, ok, err = last, true, nil
			w.BootID = t.BootID
		}
		last = w
		if err != nil {
			return w, false, err
		}
		if !ok || w.Plan != planID || !w.armed(t.BootID) {
			return w, false, nil
		}
		now := time.Now() // with its monotonic reading
		if w.Turn != turn {
			left := min(max(w.Deadline.Sub(t.now()), 0), w.Within)
			turn, end = w.Turn, now.Add(left)
		}
		if !now.Before(end) {
			return w, true, nil
		}
		if err := pause(ctx, min(watchEvery, end.Sub(now))); err != nil {
			return w, false, err
		}
	}
}

// fire undoes the plan, unless the record has changed since w was read.
func (t *Tuner) fire(ctx context.Context, w Waiting, last bool) (again bool, err error) {
	s, err := t.beginAnyway(ctx, w.PID)
	if errors.Is(err, ErrDamaged) {
		return false, t.expireFromScript(ctx, w)
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	now, ok, err := readWaiting(s.Dir)
	if errors.Is(err, ErrRecord) {
		now, ok, err = w, true, nil
	}
	if err != nil {
		return false, err
	}
	if !ok || now.Plan != w.Plan || now.Turn != w.Turn || !now.armed(s.BootID) {
		return ok && now.Plan == w.Plan, nil
	}
	s.presume = true
	_, err = s.undo(ctx, s.open(UndoRequest{Plan: w.Plan}))
	var conflict *ConflictError
	if err != nil && !last && !errors.As(err, &conflict) {
		return false, err // stays armed for the next try
	}
	w.V, w.BootID, w.Fired = waitingVersion, s.BootID, s.now()
	if err != nil {
		w.Left = err.Error()
	}
	return false, errors.Join(err, s.putWaiting(w))
}

// beginAnyway takes the lock, if need be from the process that applies the
// plan and hangs: whoever hangs in the middle of a change is what a dead-man
// is for. Nobody else is ended.
func (t *Tuner) beginAnyway(ctx context.Context, applier int) (*session, error) {
	s, err := t.beginWithin(ctx, cmp.Or(t.Grace, watchGrace))
	var busy *BusyError
	if !errors.As(err, &busy) || busy.Holder.PID != applier || applier == os.Getpid() {
		return s, err
	}
	hung, findErr := os.FindProcess(applier)
	if findErr != nil {
		return nil, errors.Join(err, findErr)
	}
	if killErr := hung.Kill(); killErr != nil {
		return nil, errors.Join(err, fmt.Errorf("end process %d, which hangs: %w", applier, killErr))
	}
	return t.beginWithin(ctx, cmp.Or(t.Grace, watchGrace))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
