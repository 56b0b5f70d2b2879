package storage

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/load/frames"
)

// Lines that a worker is sent after its task: when to begin, in nanoseconds since
// 1970 by its own clock, and that the phase is to end with what it has.
const (
	lineAt   = "at "
	lineStop = "stop"
)

// AtLine is the line that gives a worker the instant at which its phase begins.
func AtLine(t time.Time) string { return lineAt + strconv.FormatInt(t.UnixNano(), 10) + "\n" }

// StopLine is the line that ends a phase.
func StopLine() string { return lineStop + "\n" }

var (
	errStopped  = errors.New("told to stop")
	errDeadline = errors.New("worker reached its deadline before the load was over")
	errParted   = errors.New("nobody is left who asked for it")
)

// seenEvery is how often a worker tells what it has completed.
const seenEvery = 500 * time.Millisecond

// WorkerMain is a whole worker: it reads a Task line, brings the load to the
// barrier, begins at the instant that it is given, and says what it did, once for
// each phase. The end of stdin ends it at once; files that it made are removed.
func WorkerMain(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReaderSize(stdin, MaxTask)
	line, err := in.ReadSlice('\n')
	if err != nil {
		return fmt.Errorf("read task from standard input: %w (the worker is started by linerate, not by hand)", err)
	}
	w := &worker{out: stdout, at: make(chan time.Time)}
	task, err := DecodeTask(line)
	if err != nil {
		return errors.Join(err, w.emit(Event{Kind: Failed, Text: err.Error()}))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(task.Deadline, func() { cancel(errDeadline) })
	defer timer.Stop()
	go w.listen(ctx, in, cancel)
	err = w.run(ctx, task)
	var refused *RefusalError
	switch {
	case errors.Is(context.Cause(ctx), errParted):
		return nil // whoever asked is gone
	case err != nil:
		return errors.Join(err, w.emit(Event{Kind: Failed, Text: err.Error(), Refused: errors.As(err, &refused)}))
	}
	return w.emit(Event{Kind: Over})
}

type worker struct {
	mu    sync.Mutex // of out
	out   io.Writer
	at    chan time.Time
	phase int
}

func (w *worker) emit(e Event) error {
	e.V, e.Phase, e.At = Version, w.phase, time.Now()
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// listen passes on when to begin, and ends the load when it is told to.
func (w *worker) listen(ctx context.Context, in *bufio.Reader, cancel context.CancelCauseFunc) {
	for {
		line, err := in.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		ns, isAt := strings.CutPrefix(line, lineAt)
		n, perr := strconv.ParseInt(ns, 10, 64)
		switch {
		case err != nil:
			cancel(errParted)
			return
		case line == lineStop:
			cancel(errStopped)
		case isAt && perr == nil:
			select {
			case w.at <- time.Unix(0, n):
			case <-ctx.Done():
			}
		default:
			cancel(fmt.Errorf("unexpected line on standard input (%d bytes)", len(line)))
			return
		}
	}
}

// begin is the barrier: see block.Spec.
func (w *worker) begin(ctx context.Context) error {
	if err := w.emit(Event{Kind: Ready}); err != nil {
		return err
	}
	select {
	case at := <-w.at:
		// From here on by the monotonic clock: a step of the other one does not
		// move the instant.
		left := time.Until(at)
		if left < 0 {
			return fmt.Errorf("begin together with the others: the instant was %v ago", -left)
		}
		deadline := time.Now().Add(left)
		if err := w.emit(Event{Kind: Armed}); err != nil {
			return err
		}
		if err := until(ctx, deadline); err != nil {
			return err
		}
		return w.emit(Event{Kind: Started})
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// timerSlack is how late a timer may come: that long before the instant a worker
// waits awake.
const timerSlack = 2 * time.Millisecond

func until(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t) - timerSlack)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for time.Now().Before(t) { // a timer may come milliseconds late
	}
	return nil
}

func (w *worker) run(ctx context.Context, t Task) error {
	h := Hooks{Begin: w.begin, Filling: func(path string) { _ = w.emit(Event{Kind: Filling, Text: path}) }, Watch: w.watch}
	return limited(t.Memory, &h, func() error { return w.load(ctx, t, h) })
}

func (w *worker) load(ctx context.Context, t Task, h Hooks) error {
	switch {
	case t.Block != nil:
		m, err := Block(ctx, *t.Block, h)
		if err != nil && (m.Result.ReadLatency == nil || !errors.Is(context.Cause(ctx), errStopped)) {
			return err
		}
		return w.emit(Event{Kind: Finished, Result: &Result{Interrupted: err != nil, Block: &m}})
	case t.Frames != nil:
		return w.frames(ctx, *t.Frames)
	}
	return w.jobs(ctx, *t.Jobs, h)
}

// watch tells what is completed while the run goes on.
func (w *worker) watch(string, time.Duration) (*block.Progress, func()) {
	seen, over, ended := &block.Progress{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		last := time.Now()
		ticker := time.NewTicker(seenEvery)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
			}
			r, b, longest := seen.Look()
			now := time.Now()
			held := seen.LimitedBy(now.Sub(last))
			last = now
			_ = w.emit(Event{Kind: Seen, Work: &Work{r, b, longest, held}}) // whoever is gone is told by the end of stdin
		}
	}()
	return seen, func() { close(over); <-ended }
}

func (w *worker) frames(ctx context.Context, s frames.Spec) error {
	say := func(text string) { _ = w.emit(Event{Kind: Filling, Text: text}) }
	s.Begin = w.begin
	r, err := frames.Run(ctx, s, say)
	notDirect := errors.Is(err, frames.ErrNoDirect)
	if notDirect {
		s.Direct = false
		r, err = frames.Run(ctx, s, say)
	}
	if err != nil && (len(r.Streams) == 0 || !errors.Is(context.Cause(ctx), errStopped)) {
		if errors.Is(err, frames.ErrNoRoom) {
			err = refuse("%w; choose fewer --seconds or --streams", err)
		}
		return err
	}
	return w.emit(Event{Kind: Finished, Result: &Result{Interrupted: err != nil, Frames: &r, NotDirect: notDirect}})
}

func (w *worker) jobs(ctx context.Context, t JobsTask, h Hooks) (err error) {
	r := &Jobs{Hooks: h, Size: t.Size, Stuck: t.Stuck}
	remove, err := r.MakeRoot(ctx, t.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	for i, j := range t.Jobs {
		w.phase = i
		m, _, err := r.Run(ctx, j)
		if err != nil {
			return err
		}
		if err := w.emit(Event{Kind: Finished, Result: &Result{Block: &m}}); err != nil {
			return err
		}
	}
	return nil
}
