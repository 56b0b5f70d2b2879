package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"linerate/internal/failure"
	"linerate/internal/load"
)

// Role is the hidden subcommand of the program that is a worker.
const Role = "worker"

// Lines that a worker is sent after its task: that a phase is to begin, at once or at an
// instant in nanoseconds since 1970 by its own clock, and that the phase is to end with
// what it has.
const (
	lineGo   = "go"
	lineAt   = "at "
	lineStop = "stop"
)

// BeginLine is the line that has a phase begin at an instant of the worker's clock; the
// zero Time: at once.
func BeginLine(at time.Time) string {
	if at.IsZero() {
		return lineGo + "\n"
	}
	return lineAt + strconv.FormatInt(at.UnixNano(), 10) + "\n"
}

// StopLine is the line that ends a phase.
func StopLine() string { return lineStop + "\n" }

var (
	errStopped  = errors.New("told to stop")
	errDeadline = errors.New("worker reached its deadline before the load was over")
	errParted   = errors.New("nobody is left who asked for it")
)

// Main is a whole worker: it reads a Task line, brings the load to the barrier, begins
// when it is told to, and says what it did, once for each phase. The end of stdin ends it
// at once, without an error; files that it made are removed.
func Main(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	in := bufio.NewReaderSize(stdin, MaxTask)
	w := &worker{out: stdout, at: make(chan time.Time, 1)}
	task, err := readTask(in)
	if err != nil { // nobody may be there who reads events
		return errors.Join(err, w.emit(failed(err)))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(task.Deadline, func() { cancel(errDeadline) })
	defer timer.Stop()
	go w.listen(in, cancel)
	err = w.run(ctx, task)
	switch {
	case errors.Is(context.Cause(ctx), errParted):
		return nil // whoever asked is gone
	case err != nil:
		return w.end(err)
	}
	return w.emit(Event{Kind: Over})
}

// end tells whoever started the worker why it ends.
func (w *worker) end(err error) error {
	if last := w.emit(failed(err)); last != nil {
		return errors.Join(err, last)
	}
	return failure.Told(err)
}

func readTask(in *bufio.Reader) (Task, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return Task{}, fmt.Errorf("read task: longer than %d bytes", MaxTask)
	}
	if err != nil {
		return Task{}, fmt.Errorf("read task from standard input: %w (the worker is started by linerate, not by hand)", err)
	}
	return DecodeTask(line)
}

type worker struct {
	mu    sync.Mutex // of out
	out   io.Writer
	at    chan time.Time // when a phase is to begin; the zero Time: at once
	phase int
}

func (w *worker) emit(e Event) error {
	e.V, e.Phase, e.At, e.PID = Version, w.phase, time.Now(), os.Getpid()
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

// listen passes on when to begin, and ends the load when it is told to or when a line
// makes no sense. It never waits for the load: the end of the input has to be heard.
func (w *worker) listen(in *bufio.Reader, cancel context.CancelCauseFunc) {
	for {
		b, err := in.ReadSlice('\n')
		if err != nil {
			cancel(errParted)
			return
		}
		line := string(b)
		at, ok := beginning(strings.TrimSuffix(line, "\n"))
		if ok {
			select {
			case w.at <- at:
				continue
			default: // it was told already
			}
		}
		if line == StopLine() {
			cancel(errStopped)
			continue
		}
		cancel(fmt.Errorf("unexpected line on standard input (%d bytes)", len(line)))
	}
}

// beginning reads what BeginLine wrote.
func beginning(line string) (at time.Time, ok bool) {
	if line == lineGo {
		return time.Time{}, true
	}
	text, ok := strings.CutPrefix(line, lineAt)
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(0, n), ok && err == nil
}

// begin is the barrier of every load: it returns when the phase is to begin, and the time
// of that. The phase counts from before it is told of: who has heard of it may rely on it.
func (w *worker) begin(ctx context.Context, up load.Up) (began time.Time, err error) {
	if err := w.emit(Event{Kind: Ready, Up: up}); err != nil {
		return began, err
	}
	select {
	case at := <-w.at:
		if err := w.await(ctx, at); err != nil {
			return began, err
		}
		began = time.Now()
		return began, w.emit(Event{Kind: Started})
	case <-ctx.Done():
		return began, context.Cause(ctx)
	}
}

// await waits for an instant that this host was given, the zero Time: for none.
func (w *worker) await(ctx context.Context, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	// From here on by the monotonic clock: a step of the other one does not move the
	// instant.
	left := time.Until(at)
	if left < 0 {
		return fmt.Errorf("begin together with the others: the instant was %v ago", -left)
	}
	deadline := time.Now().Add(left)
	if err := w.emit(Event{Kind: Armed}); err != nil {
		return err
	}
	return until(ctx, deadline)
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
