package load

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// limits are the times a worker gives others; tests shorten them.
type limits struct {
	proof   time.Duration // for one connection to prove the token
	connect time.Duration // for a source to get all its streams up
	drain   time.Duration // for a sink's streams to end after its time is over
}

func defaultLimits() limits {
	return limits{proof: 5 * time.Second, connect: 10 * time.Second, drain: time.Second}
}

var (
	errStopped  = errors.New("told to stop")
	errDeadline = errors.New("worker reached its deadline before the run was over")
)

// WorkerMain is a whole worker: it reads a Spec line from stdin, brings its
// streams (or buffers, or file) up, waits for the line "go", moves data for the time asked, and
// writes Events as JSON lines to stdout. The end of stdin stops it at once,
// without a result and without an error. It raises GOMAXPROCS to the number
// of streams and two, and expects to be the only work of its process.
func WorkerMain(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	return runWorker(ctx, stdin, stdout, defaultLimits())
}

func runWorker(ctx context.Context, stdin io.Reader, stdout io.Writer, lim limits) error {
	in := bufio.NewReaderSize(stdin, MaxSpec)
	spec, err := readSpec(in)
	if err != nil {
		return errors.Join(err, emit(stdout, failed(err)))
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), spec.Streams+2))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(spec.Deadline, func() { cancel(errDeadline) })
	defer timer.Stop()
	w := &worker{spec: spec, lim: lim, out: stdout, begin: make(chan struct{})}
	go w.listenToParent(in, cancel)
	var res Result
	switch spec.Role {
	case Copy, Read, Write, Block, Frames:
		res, err = w.runAlone(ctx)
	default:
		res, err = w.run(ctx)
	}
	switch {
	case errors.Is(context.Cause(ctx), errStopped):
		return nil // whoever told us so asks for nothing more
	case err != nil:
		return errors.Join(err, emit(stdout, failed(err)))
	}
	return emit(stdout, Event{Kind: Finished, Result: &res})
}

func readSpec(in *bufio.Reader) (Spec, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return Spec{}, fmt.Errorf("read worker spec: longer than %d bytes", MaxSpec)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("read worker spec from standard input: %w (the worker is started by linerate, not by hand)", err)
	}
	return DecodeSpec(line)
}

type worker struct {
	spec  Spec
	lim   limits
	out   io.Writer
	begin chan struct{} // closed by "go"
}

// listenToParent waits for "go" and then for the end of the input.
func (w *worker) listenToParent(in *bufio.Reader, cancel context.CancelCauseFunc) {
	begun := false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			cancel(errStopped)
			return
		}
		if string(line) != "go\n" || begun {
			cancel(fmt.Errorf("unexpected line on standard input (%d bytes)", len(line)))
			return
		}
		begun = true
		close(w.begin)
	}
}

func (w *worker) run(ctx context.Context) (Result, error) {
	if w.spec.Discard && !canDiscard {
		return Result{}, fmt.Errorf("discard received data: unsupported on %s; run without discard", runtime.GOOS)
	}
	s := newSession(w.spec)
	defer s.close()
	var err error
	if w.spec.Role == Sink {
		err = w.acceptAll(ctx, s)
	} else {
		err = w.connectAll(ctx, s)
	}
	if err != nil {
		return Result{}, err
	}
	if err := s.start(rand.Reader); err != nil {
		return Result{}, err
	}
	up := Event{Kind: Connected, PID: os.Getpid(), TIDs: s.tids(), CC: s.streams[0].wire.congestion()}
	if err := emit(w.out, up); err != nil {
		return Result{}, err
	}
	return w.measure(ctx, s)
}

// measure waits for the barrier and reads the streams' counters at the end of
// the warm-up and at the end of the run. It reads the clock with each
// reading, so that being late costs no accuracy.
func (w *worker) measure(ctx context.Context, s *session) (Result, error) {
	select {
	case <-w.begin:
	case <-s.ended:
		return Result{}, fmt.Errorf("wait for the start: %w", s.firstError())
	case <-ctx.Done():
		return Result{}, context.Cause(ctx)
	}
	start := time.Now()
	s.open()
	if err := emit(w.out, Event{Kind: Started}); err != nil {
		return Result{}, err
	}
	if err := s.waitUntil(ctx, start.Add(w.spec.Warmup)); err != nil {
		return Result{}, err
	}
	warm, from := s.counts(), time.Now()
	if err := s.waitUntil(ctx, start.Add(w.spec.Duration)); err != nil {
		return Result{}, err
	}
	end, to := s.counts(), time.Now()
	early := s.over()
	if w.spec.Role == Sink {
		s.drain(ctx, w.lim.drain)
	}
	s.halt()
	res := s.result(warm, end)
	res.Window, res.Early = to.Sub(from), early
	return res, nil
}
