package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"linerate/internal/model"
)

// Party is a load on one host that starts together with those on others.
type Party interface {
	Name() string
	// Clock measures the offset of the host's clock from the controller's.
	Clock(ctx context.Context) (model.Clock, error)
	// Ready returns once the load waits at the barrier.
	Ready(ctx context.Context) error
	// Arm schedules the load's start at an instant of its own host's clock. It returns once the
	// load has agreed.
	Arm(ctx context.Context, at time.Time) error
	// Began is when the load started, by its own host's clock.
	Began(ctx context.Context) (time.Time, error)
	// Stop ends the load in any state, and does nothing after its end.
	Stop(ctx context.Context) error
}

// Start says how simultaneous the start of the parties was.
type Start struct {
	At     time.Time // the agreed instant, by the controller's clock
	Clocks map[string]model.Clock
	// Began is when each host started, relative to At; the host's clock is only known to within
	// Clocks[host].Error.
	Began map[string]time.Duration
	// Spread is the time from the first to the last of them, and Error its uncertainty.
	Spread, Error time.Duration
}

// Times of a barrier.
const (
	// armLead is how far ahead the instant is, beyond the time for reading the clocks. A party
	// that has not agreed after three quarters of it is left out. A guest on a busy machine took
	// more than half a second.
	armLead  = 2 * time.Second
	beganFor = 10 * time.Second
)

// Together starts all parties at one instant. now is the controller's clock. ready bounds how
// long the parties may take to reach the barrier; 0 is no bound.
//
// If a party does not reach it, the error names it, and the others are stopped before they start.
func Together(ctx context.Context, parties []Party, ready time.Duration, now func() time.Time) (Start, error) {
	s := Start{Clocks: map[string]model.Clock{}, Began: map[string]time.Duration{}}
	arrive := ctx
	if ready > 0 {
		var cancel context.CancelFunc
		arrive, cancel = context.WithTimeoutCause(ctx, ready, fmt.Errorf("it was not ready within %v", ready))
		defer cancel()
	}
	if err := each(arrive, parties, func(p Party, ctx context.Context) error { return p.Ready(ctx) }); err != nil {
		return s, halt(ctx, parties, fmt.Errorf("begin together: nothing was started: %w", err))
	}
	worst := time.Duration(0)
	for _, p := range parties {
		c, err := p.Clock(ctx)
		if err != nil {
			return s, halt(ctx, parties, fmt.Errorf("begin together: nothing was started: read clock of %s: %w", p.Name(), err))
		}
		s.Clocks[p.Name()], worst = c, max(worst, c.Error)
	}
	lead := armLead + 16*worst
	s.At = now().Add(lead)
	soon := lead * 3 / 4
	agree, cancel := context.WithTimeoutCause(ctx, soon, fmt.Errorf("it did not agree on the start within %v", soon))
	defer cancel()
	err := each(agree, parties, func(p Party, ctx context.Context) error { return p.Arm(ctx, s.At.Add(s.Clocks[p.Name()].Offset)) })
	if err != nil {
		return s, halt(ctx, parties, fmt.Errorf("begin together: nothing was started: %w", err))
	}
	return s, s.began(ctx, parties, s.At.Sub(now())+beganFor)
}

// began asks each party when it started.
func (s *Start) began(ctx context.Context, parties []Party, within time.Duration) error {
	bounded, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it did not begin within %v of the start", beganFor))
	defer cancel()
	var mu sync.Mutex
	at := map[string]time.Time{}
	if err := each(bounded, parties, func(p Party, ctx context.Context) error {
		t, err := p.Began(ctx)
		mu.Lock()
		defer mu.Unlock()
		at[p.Name()] = t
		return err
	}); err != nil {
		return halt(ctx, parties, fmt.Errorf("begin together: %w", err))
	}
	var first, last, e1, e2 time.Duration
	for i, p := range parties {
		c := s.Clocks[p.Name()]
		d := at[p.Name()].Add(-c.Offset).Sub(s.At)
		s.Began[p.Name()] = d
		if i == 0 || d < first {
			first, e1 = d, c.Error
		}
		if i == 0 || d > last {
			last, e2 = d, c.Error
		}
	}
	s.Spread, s.Error = last-first, e1+e2
	return nil
}

// errOther ends the wait for the other parties after one has failed.
var errOther = errors.New("another host failed")

// each calls all parties concurrently. If one fails, the error names it and the others are
// cancelled.
func each(ctx context.Context, parties []Party, do func(Party, context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, len(parties))
	var wg sync.WaitGroup
	for i, p := range parties {
		wg.Go(func() {
			if err := do(p, ctx); err != nil && !errors.Is(err, errOther) {
				errs[i] = fmt.Errorf("%s: %w", p.Name(), err)
				cancel(errOther)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// halt stops all of them, even if ctx is over.
func halt(ctx context.Context, parties []Party, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	for _, p := range parties {
		if err := p.Stop(ctx); err != nil {
			why = errors.Join(why, fmt.Errorf("%s: %w", p.Name(), err))
		}
	}
	return why
}
