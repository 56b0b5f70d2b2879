package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// listenTime bounds how long a sink takes until it listens.
const listenTime = 10 * time.Second

// Worker is a worker at the host, in the phase it is in: whatever its task is, it is
// begun, watched and ended in one way. It implements measure.Worker, which begins at
// once, and measure.Party, which begins at an instant with others.
type Worker struct {
	c     *Client
	r     startedResult
	addr  netip.AddrPort
	phase int
}

// Start starts a worker, which goes as far as the barrier. The task's version is filled in.
func (c *Client) Start(ctx context.Context, t worker.Task) (*Worker, error) {
	t.V = worker.Version
	end := func(ctx context.Context, r startedResult) error { return (&Worker{c: c, r: r}).Stop(ctx) }
	r, err := begin(ctx, c, methodWorker, t, end)
	if err != nil {
		return nil, err
	}
	return &Worker{c: c, r: r}, nil
}

// StartWorker implements measure.End.
func (c *Client) StartWorker(ctx context.Context, t worker.Task) (measure.Worker, error) {
	w, err := c.Start(ctx, t)
	if err != nil {
		return nil, err
	}
	if t.Load == nil || t.Load.Role != load.Sink {
		return w, nil
	}
	wait, cancel := context.WithTimeoutCause(ctx, listenTime, fmt.Errorf("it did not listen within %v", listenTime))
	defer cancel()
	e, err := w.event(wait, worker.Listening)
	if err == nil && !e.Addr.IsValid() {
		err = errors.New("the sink does not say where it listens")
	}
	if err != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.closeTime)
		defer cancel()
		return nil, errors.Join(w.named(err), w.Stop(late))
	}
	w.addr = e.Addr
	return w, nil
}

// PID implements measure.Worker.
func (w *Worker) PID() int { return w.r.PID }

// Addr implements measure.Worker.
func (w *Worker) Addr() netip.AddrPort { return w.addr }

// Name implements measure.Party.
func (w *Worker) Name() string { return w.c.ep.Name }

// Clock implements measure.Party.
func (w *Worker) Clock(ctx context.Context) (model.Clock, error) { return w.c.Clock(ctx) }

// event waits for one of the phase's events, as long as ctx lets it.
func (w *Worker) event(ctx context.Context, k worker.Kind) (worker.Event, error) {
	e, err := ask(ctx, w.c, methodWorkerEvent, eventParams{w.r.ID, k, w.phase})
	if err == nil {
		err = e.Err()
	}
	if err == nil && (e.Kind != k || e.Phase != w.phase) {
		err = errors.New("the load is over")
	}
	return e, err
}

// named adds the host's name to an error that has none.
func (w *Worker) named(err error) error {
	var has *hostError
	if err == nil || errors.As(err, &has) {
		return err
	}
	return w.c.failed(err)
}

// Ready implements measure.Party.
func (w *Worker) Ready(ctx context.Context) error {
	_, err := w.event(ctx, worker.Ready)
	return err
}

// Connected implements measure.Worker.
func (w *Worker) Connected(ctx context.Context) (worker.Event, error) {
	e, err := w.event(ctx, worker.Ready)
	return e, w.named(err)
}

// Go implements measure.Worker.
func (w *Worker) Go(ctx context.Context) error {
	if _, err := ask(ctx, w.c, methodWorkerBegin, beginParams{ID: w.r.ID}); err != nil {
		return err
	}
	_, err := w.event(ctx, worker.Started)
	return w.named(err)
}

// Arm implements measure.Party.
func (w *Worker) Arm(ctx context.Context, at time.Time) error {
	if _, err := ask(ctx, w.c, methodWorkerBegin, beginParams{w.r.ID, at}); err != nil {
		return err
	}
	_, err := w.event(ctx, worker.Armed)
	return err
}

// Began implements measure.Party.
func (w *Worker) Began(ctx context.Context) (time.Time, error) {
	e, err := w.event(ctx, worker.Started)
	return e.At, err
}

// Finished waits for what the phase did, and goes on to the next one. A run takes
// as long as it does: ctx is its bound.
func (w *Worker) Finished(ctx context.Context) (worker.Result, error) {
	e, err := w.event(ctx, worker.Finished)
	if err != nil {
		return worker.Result{}, err
	}
	if e.Result == nil {
		return worker.Result{}, errors.New("it ended without a result")
	}
	w.phase++
	return *e.Result, nil
}

// Wait implements measure.Worker.
func (w *Worker) Wait(ctx context.Context) (load.Result, error) {
	r, err := w.Finished(ctx)
	if err == nil && r.Load == nil {
		err = errors.New("it ended without the result of its load")
	}
	if err != nil {
		return load.Result{}, w.named(err)
	}
	return *r.Load, nil
}

// Seen is what was completed so far, and the longest latency since the last call.
func (w *Worker) Seen(ctx context.Context) (worker.Work, error) {
	return ask(ctx, w.c, methodWorkerSeen, idParams{w.r.ID})
}

// Interrupt has the phase end with what it has measured until then.
func (w *Worker) Interrupt(ctx context.Context) error {
	_, err := ask(ctx, w.c, methodWorkerStop, idParams{w.r.ID})
	return err
}

// Stop implements measure.Worker and measure.Party.
func (w *Worker) Stop(ctx context.Context) error {
	select {
	case <-w.c.ended:
		return nil // a worker does not outlive its agent
	default:
	}
	_, err := ask(ctx, w.c, methodWorkerEnd, idParams{w.r.ID})
	return err
}
