package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"linerate/internal/load/worker"
)

// workerEvents are all events of a worker, so that each can be asked for by its kind and phase.
type workerEvents struct {
	shift time.Duration // the agent's clock minus the worker's
	all   []worker.Event
	seen  worker.Work // of the phase
}

func (a *agent) startWorker(_ context.Context, t worker.Task) (startedResult, error) {
	if err := t.Check(); err != nil {
		return startedResult{}, fmt.Errorf("start worker: %w", err)
	}
	e := &workerEvents{shift: time.Until(a.o.Now())}
	return a.started(spawn(order{a.o.Self, worker.Role, t, worker.MaxEvent, t.Ending(), a.o.Log}, e))
}

// add records an event, with its times on the agent's clock.
func (w *workerEvents) add(line []byte) error {
	var e worker.Event
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.Kind == worker.Seen && e.Work != nil {
		longest := max(w.seen.Longest, e.Work.Longest)
		w.seen = *e.Work
		w.seen.Longest = longest
		return nil
	}
	e.At = e.At.Add(w.shift)
	w.all = append(w.all, e)
	return nil
}

// full: a worker says little and ends after its last phase.
func (w *workerEvents) full() bool { return false }

// find returns the first event of a kind in a phase, or else Failed or Over, after which no
// event comes.
func (w *workerEvents) find(k worker.Kind, phase int) (worker.Event, bool) {
	for _, e := range w.all {
		if e.Kind == k && e.Phase == phase || e.Kind == worker.Failed || e.Kind == worker.Over {
			return e, true
		}
	}
	return worker.Event{}, false
}

// workerEvent waits for an event; the caller bounds the wait.
func (a *agent) workerEvent(ctx context.Context, p eventParams) (e worker.Event, err error) {
	w, events, err := processOf[*workerEvents](a, p.ID)
	if err != nil {
		return e, err
	}
	err = w.await(ctx, func() (found, took bool) {
		e, found = events.find(p.Kind, p.Phase)
		return found, false
	})
	return e, err
}

// beginWorker starts the phase, at an instant of the agent's clock or at once.
func (a *agent) beginWorker(_ context.Context, p beginParams) (none, error) {
	w, events, err := processOf[*workerEvents](a, p.ID)
	if err != nil {
		return none{}, err
	}
	if !p.At.IsZero() {
		p.At = p.At.Add(-events.shift)
	}
	return none{}, w.tell(worker.BeginLine(p.At))
}

// stopWorker ends the phase with what it has measured so far.
func (a *agent) stopWorker(_ context.Context, p idParams) (none, error) {
	w, _, err := processOf[*workerEvents](a, p.ID)
	if err != nil {
		return none{}, err
	}
	return none{}, w.tell(worker.StopLine())
}

// workerSeen returns the work completed so far, and the longest latency since the last call.
func (a *agent) workerSeen(_ context.Context, p idParams) (worker.Work, error) {
	w, events, err := processOf[*workerEvents](a, p.ID)
	if err != nil {
		return worker.Work{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := events.seen
	events.seen.Longest = 0
	return seen, nil
}
