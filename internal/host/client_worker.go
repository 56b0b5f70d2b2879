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

// listenTime bounds how long a sink may take until it listens.
const listenTime = 10 * time.Second

// running is a worker or a mover on the host.
type running struct {
	c *Client
	r startedResult
}

// start starts a worker or a mover; one whose start came too late is stopped.
func start[T any](ctx context.Context, c *Client, m method[T, startedResult], task T) (running, error) {
	r, err := begin(ctx, c, m, task, func(ctx context.Context, r startedResult) error { return running{c, r}.Stop(ctx) })
	return running{c, r}, err
}

// PID of its process.
func (r running) PID() int { return r.r.PID }

// Stop ends it.
func (r running) Stop(ctx context.Context) error {
	select {
	case <-r.c.ended:
		return nil // it does not outlive its agent
	default:
	}
	_, err := ask(ctx, r.c, methodWorkerEnd, idParams{r.r.ID})
	return err
}

// Worker is a worker on the host, in its current phase. It is started, watched and ended in
// the same way whatever its task. It implements measure.Worker, which starts at once, and
// measure.Party, which starts at the same instant as others.
type Worker struct {
	running
	addr  netip.AddrPort
	phase int
}

// Start starts a worker, which prepares its load and waits at the barrier. Start fills in the
// task's version.
func (c *Client) Start(ctx context.Context, t worker.Task) (*Worker, error) {
	t.V = worker.Version
	r, err := start(ctx, c, methodWorker, t)
	if err != nil {
		return nil, err
	}
	return &Worker{running: r}, nil
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

// Addr implements measure.Worker.
func (w *Worker) Addr() netip.AddrPort { return w.addr }

// Name implements measure.Party.
func (w *Worker) Name() string { return w.c.ep.Name }

// Clock implements measure.Party.
func (w *Worker) Clock(ctx context.Context) (model.Clock, error) { return w.c.Clock(ctx) }

// event waits for an event of the phase until ctx ends.
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

// Finished waits for the result of the phase, and goes on to the next phase. Only ctx bounds
// the wait.
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

// Seen returns the work completed so far, and the longest latency since the last call.
func (w *Worker) Seen(ctx context.Context) (worker.Work, error) {
	return ask(ctx, w.c, methodWorkerSeen, idParams{w.r.ID})
}

// Interrupt ends the phase with what it has measured so far.
func (w *Worker) Interrupt(ctx context.Context) error {
	_, err := ask(ctx, w.c, methodWorkerStop, idParams{w.r.ID})
	return err
}
