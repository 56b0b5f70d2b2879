package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/kernel"
	"linerate/internal/load"
)

// Bounds of an agent's workers.
const (
	maxWorkers  = 64               // the ends of as many directions at once
	workerStart = 10 * time.Second // for a sink to listen
	workerStop  = 2 * time.Second  // for a worker to end by itself before it is killed
	maxEvent    = 1 << 20
	maxTail     = 2 << 10 // of stderr, for the message
)

// process is one that this agent has started to make load.
type process struct {
	pid    int
	stdin  io.WriteCloser
	cancel context.CancelFunc
	errs   tail
	ended  chan struct{} // closed when the process is gone
	endErr error         // for after ended
}

// workerProc is a worker process and what it has said.
type workerProc struct {
	process

	mu     sync.Mutex
	rest   []byte
	events []load.Event
	news   chan struct{} // closed and replaced with each event
}

func (a *agent) startWorker(ctx context.Context, p workerParams) (startedResult, error) {
	w, err := spawnWorker(slices.Concat(a.o.Self, []string{"worker"}), p.Spec, a.o.Log)
	if err != nil {
		return startedResult{}, err
	}
	id, err := a.workers.add(w)
	if err != nil {
		w.stop()
		return startedResult{}, err
	}
	r := startedResult{ID: id, PID: w.pid}
	if p.Spec.Role != load.Sink {
		return r, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, workerStart, fmt.Errorf("it did not listen within %v", workerStart))
	defer cancel()
	if r.Listening, err = w.await(ctx, load.Listening); err != nil {
		a.workers.remove(id)
		w.stop()
		return startedResult{}, err
	}
	return r, nil
}

// spawnWorker starts the process and hands it its Spec.
func spawnWorker(argv []string, spec load.Spec, log io.Writer) (*workerProc, error) {
	w := &workerProc{news: make(chan struct{})}
	if err := w.spawn(argv, spec, w, log, workerStop); err != nil {
		return nil, err
	}
	return w, nil
}

// spawn starts the process and hands it its task, a line of JSON. Told to end, it
// is killed if it has not after some time.
func (w *process) spawn(argv []string, task any, stdout, log io.Writer, ends time.Duration) error {
	line, err := json.Marshal(task)
	if err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan struct{})
	cmd := kernel.Exec(ctx, argv...)
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		cancel()
		return fmt.Errorf("start worker: %w", err)
	}
	cmd.Stdout = stdout
	cmd.Stderr = io.MultiWriter(&w.errs, log)
	// The end of its input stops a worker; it is killed if it does not obey.
	cmd.Cancel = w.stdin.Close
	cmd.WaitDelay = ends
	if err := cmd.Start(); err != nil {
		cancel()
		return fmt.Errorf("start worker: %w", err)
	}
	w.pid = cmd.Process.Pid
	go func() {
		w.endErr = cmd.Wait()
		close(w.ended)
	}()
	if _, err := w.stdin.Write(append(line, '\n')); err != nil {
		w.stop()
		return errors.Join(fmt.Errorf("start worker: hand it its task: %w", err), w.why())
	}
	return nil
}

// Write takes the worker's stdout apart. A line that is too long or no event
// ends the worker.
func (w *workerProc) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte{'\n'})
		if !ok {
			if len(w.rest) > maxEvent {
				return 0, fmt.Errorf("read worker event: longer than %d bytes", maxEvent)
			}
			return len(b), nil
		}
		var e load.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("read worker event: %w", err)
		}
		w.rest = rest
		w.events = append(w.events, e)
		close(w.news)
		w.news = make(chan struct{})
	}
}

func (w *workerProc) look(k load.Kind) (e load.Event, found bool, news chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == k || e.Kind == load.Failed {
			return e, true, nil
		}
	}
	return load.Event{}, false, w.news
}

// await returns the worker's event k, or why there will be none.
func (w *workerProc) await(ctx context.Context, k load.Kind) (load.Event, error) {
	for {
		e, found, news := w.look(k)
		switch {
		case found && e.Kind == load.Failed && e.Unreached != nil:
			return e, fmt.Errorf("worker: %w", &load.UnreachedError{Unreached: *e.Unreached})
		case found && e.Kind == load.Failed && e.Refused:
			return e, fmt.Errorf("worker: %w", &load.RefusedError{Text: e.Error})
		case found && e.Kind == load.Failed:
			return e, fmt.Errorf("worker: %s", e.Error)
		case found:
			return e, nil
		}
		select {
		case <-news:
		case <-w.ended:
			// Its last words may have come in between.
			if _, found, _ := w.look(k); !found {
				return load.Event{}, w.why()
			}
		case <-ctx.Done():
			return load.Event{}, fmt.Errorf("wait for worker: %w", context.Cause(ctx))
		}
	}
}

// why says how a worker ended that should not have; for after ended.
func (w *process) why() error {
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
func (w *process) stop() {
	w.cancel()
	<-w.ended
}

func (a *agent) workerConnected(ctx context.Context, p idParams) (load.Event, error) {
	w, err := a.workers.get(p.ID)
	if err != nil {
		return load.Event{}, err
	}
	e, err := w.await(ctx, load.Connected)
	var not *load.UnreachedError
	if errors.As(err, &not) {
		return e, jrpc2.Errorf(codeUnreached, "%v", err).WithData(not)
	}
	var no *load.RefusedError
	if errors.As(err, &no) {
		return e, jrpc2.Errorf(codeRefused, "%v", err).WithData(no)
	}
	return e, err
}

func (a *agent) workerGo(_ context.Context, p idParams) (none, error) {
	w, err := a.workers.get(p.ID)
	if err != nil {
		return none{}, err
	}
	if _, err := io.WriteString(w.stdin, "go\n"); err != nil {
		return none{}, fmt.Errorf("start the load: %w", err)
	}
	return none{}, nil
}

func (a *agent) workerWait(ctx context.Context, p idParams) (load.Result, error) {
	w, err := a.workers.get(p.ID)
	if err != nil {
		return load.Result{}, err
	}
	e, err := w.await(ctx, load.Finished)
	if err != nil {
		return load.Result{}, err
	}
	if e.Result == nil {
		return load.Result{}, errors.New("read worker event: a result without one")
	}
	return *e.Result, nil
}

// stopWorker is harmless for a worker that is gone.
func (a *agent) stopWorker(_ context.Context, p idParams) (none, error) {
	if w, ok := a.workers.remove(p.ID); ok {
		w.stop()
	}
	return none{}, nil
}

// tail keeps the end of what was written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - maxTail; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// last is the last line written.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.TrimSpace(string(t.b))
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
