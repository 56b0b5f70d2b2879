package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/load/worker"
)

// maxWorkers bounds the workers of an agent: one for each direction of each load with an end
// on this host.
const maxWorkers = 64

// workerProc is a worker process and the events that it has sent.
type workerProc struct {
	pid    int
	stdin  io.WriteCloser
	cancel context.CancelFunc
	errs   tail
	ended  chan struct{} // closed when the process is gone
	endErr error         // read only after ended
	shift  time.Duration // the agent's clock minus the worker's

	mu     sync.Mutex
	rest   []byte
	events []worker.Event // all but Seen
	seen   worker.Work    // of the phase
	news   chan struct{}  // closed and replaced with each event
}

func (a *agent) startWorker(_ context.Context, t worker.Task) (startedResult, error) {
	if err := t.Check(); err != nil {
		return startedResult{}, fmt.Errorf("start worker: %w", err)
	}
	w := &workerProc{news: make(chan struct{}), ended: make(chan struct{}), shift: time.Until(a.o.Now())}
	if err := w.spawn(slices.Concat(a.o.Self, []string{worker.Role}), t, a.o.Log); err != nil {
		return startedResult{}, fmt.Errorf("start worker: %w", err)
	}
	id, err := a.workers.add(w)
	if err != nil {
		w.stop()
		return startedResult{}, err
	}
	return startedResult{ID: id, PID: w.pid}, nil
}

// spawn starts the process and sends it its task.
func (w *workerProc) spawn(argv []string, t worker.Task, log io.Writer) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	cmd := kernel.Exec(ctx, argv...)
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		cancel()
		return err
	}
	cmd.Stdout = w
	cmd.Stderr = io.MultiWriter(&w.errs, log)
	// The end of its input stops a worker; if it does not stop, it is killed.
	cmd.Cancel = w.stdin.Close
	cmd.WaitDelay = t.Ending()
	if err := cmd.Start(); err != nil {
		cancel()
		return err
	}
	w.pid = cmd.Process.Pid
	go func() {
		w.endErr = cmd.Wait()
		close(w.ended)
	}()
	if _, err := w.stdin.Write(append(line, '\n')); err != nil {
		w.stop()
		return errors.Join(fmt.Errorf("send it its task: %w", err), w.why())
	}
	return nil
}

// Write parses the worker's stdout. A line that is too long or not an event ends the worker.
func (w *workerProc) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte{'\n'})
		if !ok {
			if len(w.rest) > worker.MaxEvent {
				return 0, fmt.Errorf("read worker event: longer than %d bytes", worker.MaxEvent)
			}
			return len(b), nil
		}
		var e worker.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("read worker event: %w", err)
		}
		w.rest = rest
		w.take(e)
	}
}

// take records an event, with its times on the agent's clock, and wakes those who wait for it.
func (w *workerProc) take(e worker.Event) {
	if e.Kind == worker.Seen && e.Work != nil {
		longest := max(w.seen.Longest, e.Work.Longest)
		w.seen = *e.Work
		w.seen.Longest = longest
		return
	}
	e.At = e.At.Add(w.shift)
	w.events = append(w.events, e)
	close(w.news)
	w.news = make(chan struct{})
}

// look returns the first event of a kind in a phase, or else Failed or Over, after which no
// event comes.
func (w *workerProc) look(k worker.Kind, phase int) (e worker.Event, found bool, news chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == k && e.Phase == phase || e.Kind == worker.Failed || e.Kind == worker.Over {
			return e, true, nil
		}
	}
	return worker.Event{}, false, w.news
}

// workerEvent waits for an event; the caller bounds the wait.
func (a *agent) workerEvent(ctx context.Context, p eventParams) (worker.Event, error) {
	w, err := a.workers.get(p.ID)
	if err != nil {
		return worker.Event{}, err
	}
	for {
		e, found, news := w.look(p.Kind, p.Phase)
		if found {
			return e, nil
		}
		select {
		case <-news:
		case <-w.ended:
			if e, found, _ := w.look(p.Kind, p.Phase); found { // sent before the worker ended
				return e, nil
			}
			return worker.Event{}, w.why()
		case <-ctx.Done():
			return worker.Event{}, fmt.Errorf("wait for worker: %w", context.Cause(ctx))
		}
	}
}

// why returns the reason why a worker ended unexpectedly; call it only after ended.
func (w *workerProc) why() error {
	how := "it ended without a result"
	if w.endErr != nil {
		how = w.endErr.Error()
	}
	if last := w.errs.last(); last != "" {
		how += ": " + last
	}
	return fmt.Errorf("worker %d ended: %s", w.pid, how)
}

// stop ends the worker and waits until it is gone.
func (w *workerProc) stop() {
	w.cancel()
	<-w.ended
}

// beginWorker starts the phase, at an instant of the agent's clock or at once.
func (a *agent) beginWorker(_ context.Context, p beginParams) (none, error) {
	w, err := a.workers.get(p.ID)
	if err != nil {
		return none{}, err
	}
	if !p.At.IsZero() {
		p.At = p.At.Add(-w.shift)
	}
	return none{}, w.tell(worker.BeginLine(p.At))
}

// stopWorker ends the phase with what it has measured so far.
func (a *agent) stopWorker(_ context.Context, p idParams) (none, error) {
	w, err := a.workers.get(p.ID)
	if err != nil {
		return none{}, err
	}
	return none{}, w.tell(worker.StopLine())
}

func (w *workerProc) tell(line string) error {
	if _, err := io.WriteString(w.stdin, line); err != nil {
		return fmt.Errorf("tell the worker: %w", err)
	}
	return nil
}

// workerSeen returns the work completed so far, and the longest latency since the last call.
func (a *agent) workerSeen(_ context.Context, p idParams) (worker.Work, error) {
	w, err := a.workers.get(p.ID)
	if err != nil {
		return worker.Work{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen.Longest = 0
	return seen, nil
}

// endWorker does nothing if the worker has ended.
func (a *agent) endWorker(_ context.Context, p idParams) (none, error) {
	if w, ok := a.workers.remove(p.ID); ok {
		w.stop()
	}
	return none{}, nil
}
