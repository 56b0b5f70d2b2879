package frames

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/load/scratch"
	"linerate/internal/unit"
)

// ErrNoDirect: the page cache cannot be passed by here.
var ErrNoDirect = errors.New("the file system knows no direct I/O")

// Result is how the streams went.
type Result struct {
	Streams [][]Frame
	Errors  []string      // of streams with failed frames, the first of each
	Took    time.Duration // from the start until the last stream was done
	// Flush is how long it took after that to make durable what was recorded.
	Flush time.Duration
	// Making is the time that all streams together spent on content.
	Making time.Duration
	// CPU of this process, kernel included, during Took and Flush.
	CPU time.Duration
	// Fetched is what this process read from devices and servers while playing;
	// below 0: not known.
	Fetched unit.Bytes
	// Kept says why the page cache was not dropped before playing; empty: it was.
	Kept string
}

// Run records streams, or records them without deadlines and then plays them. It
// works in a directory of its own below Dir, which it removes. say is told what
// is being done; nil: nobody is.
//
// Errors: a Spec that cannot be had, no room, files that cannot be made, and
// *StuckError. A ctx that ends stops the run; its Result, of the frames until
// then, comes with the cause as error. Frames that fail are counted.
func Run(ctx context.Context, s Spec, say func(string)) (r Result, err error) {
	if err := s.Check(); err != nil {
		return r, err
	}
	if free := room(s.Dir); free >= 0 && s.Needs() > free*9/10 {
		return r, fmt.Errorf("make frames in %s: %w: they take %v, and %v are free, of which a tenth is left alone", s.Dir, ErrNoRoom, s.Needs(), free)
	}
	dir, left, err := scratch.Make(s.Dir, "frames")
	if err != nil {
		return r, fmt.Errorf("make frames: %w", err)
	}
	root := dir.Path
	e := &run{spec: s, root: root, say: say}
	for _, path := range left {
		e.tell("a run that was killed left %s, which cannot be removed", path)
	}
	r, err = e.do(ctx)
	var stuck *StuckError
	if errors.As(err, &stuck) {
		stuck.Left = root // whoever is stuck in it holds it
		return r, err
	}
	if rerr := dir.Remove(); rerr != nil {
		err = errors.Join(err, fmt.Errorf("remove what was recorded: %w: remove %s by hand", rerr, root))
	}
	return r, err
}

// ErrNoRoom: the directory's file system has not enough space.
var ErrNoRoom = errors.New("not enough room")

// run is a Run under way.
type run struct {
	spec  Spec
	root  string
	say   func(string)
	files []*files
	start time.Time
}

func (e *run) tell(format string, args ...any) {
	if e.say != nil {
		e.say(fmt.Sprintf(format, args...))
	}
}

func (e *run) do(ctx context.Context) (r Result, err error) {
	for i := range e.spec.Streams {
		f, err := newFiles(e.spec, e.root, i)
		if err != nil {
			return r, errors.Join(err, e.close())
		}
		e.files = append(e.files, f)
	}
	if e.spec.Play {
		if r.Kept, err = e.prepare(ctx); err != nil {
			return r, e.closeUnlessStuck(err)
		}
	}
	if e.spec.Begin != nil {
		if err := e.spec.Begin(ctx); err != nil {
			return r, errors.Join(err, e.close())
		}
	}
	fetched := block.Fetched()
	before, err := block.ProcessCPU()
	if err != nil {
		return r, errors.Join(err, e.close())
	}
	err = e.streams(ctx, &r)
	if after := block.Fetched(); fetched >= 0 && after >= fetched {
		r.Fetched = after - fetched
	} else {
		r.Fetched = -1
	}
	if err == nil && !e.spec.Play {
		began := time.Now()
		err = e.all(ctx, func(f *files) error { return f.sync() })
		r.Flush = time.Since(began)
	}
	if after, cerr := block.ProcessCPU(); cerr == nil {
		r.CPU = after - before
	}
	return r, e.closeUnlessStuck(err)
}

func (e *run) closeUnlessStuck(err error) error {
	var stuck *StuckError
	if errors.As(err, &stuck) {
		return err // its thread still uses memory and file
	}
	return errors.Join(err, e.close())
}

func (e *run) close() error {
	var errs []error
	for _, f := range e.files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// prepare records what is to be played, and has the page cache forget it.
func (e *run) prepare(ctx context.Context) (kept string, err error) {
	e.tell("record %v to play: %d × %d frames", e.spec.Needs(), e.spec.Streams, e.spec.Frames)
	err = e.all(ctx, func(f *files) error {
		for k := range e.spec.Frames {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := f.move(k); err != nil {
				return fmt.Errorf("record frame %d of stream %d: %w", k, f.stream, err)
			}
		}
		return f.sync()
	})
	if err != nil {
		return "", err
	}
	for _, f := range e.files {
		f.record, f.making = false, 0
		if err := f.forget(); err != nil {
			kept = err.Error()
		}
	}
	return kept, nil
}

// streams runs all of them from one start.
func (e *run) streams(parent context.Context, r *Result) error {
	ctx, cancel := context.WithCancel(parent) // a stream that is stuck ends the others
	defer cancel()
	what := "record"
	if e.spec.Play {
		what = "play"
	}
	e.tell("%s %d × %s at %s frames per second, for %v", what, e.spec.Streams, e.spec.Format.Name, e.spec.Rate, e.spec.Rate.At(e.spec.Frames).Round(time.Millisecond))
	e.start = time.Now()
	s := schedule{e.spec.Rate, e.spec.Frames, e.spec.Buffer}
	var mu sync.Mutex
	frames := make([][]Frame, len(e.files))
	var failed []string
	err := e.all(ctx, func(f *files) error {
		do := s.record
		if e.spec.Play {
			do = s.play
		}
		got, err := do(ctx, wall{e.start}, f)
		mu.Lock()
		defer mu.Unlock()
		frames[f.stream] = got
		if err != nil {
			failed = append(failed, fmt.Sprintf("stream %d: %v", f.stream, err))
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	r.Streams, r.Errors, r.Took = slices.Clone(frames), failed, time.Since(e.start)
	var stuck *StuckError
	if !errors.As(err, &stuck) {
		for _, f := range e.files {
			r.Making += f.making
		}
	}
	if err == nil && parent.Err() != nil {
		err = context.Cause(parent)
	}
	return err
}

// wall is the real clock.
type wall struct{ start time.Time }

func (w wall) now() time.Duration { return time.Since(w.start) }

func (w wall) until(ctx context.Context, t time.Duration) {
	timer := time.NewTimer(time.Until(w.start.Add(t)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// StuckError: a frame did not come back.
type StuckError struct {
	Stream, Frame int
	For           time.Duration
	Left          string // the directory that was not removed
}

// Error says which.
func (e *StuckError) Error() string {
	return fmt.Sprintf("the target does not answer: frame %d of stream %d has been out for %v; %s was not removed", e.Frame, e.Stream, e.For.Round(time.Second), e.Left)
}

// Times of a target that does not answer.
const (
	defaultStuck = time.Minute
	stoppedStuck = 5 * time.Second // once the run was told to stop
	lookEvery    = 250 * time.Millisecond
)

// all does something for every stream at once and waits for all of them, but not
// for one whose frame does not come back.
func (e *run) all(ctx context.Context, do func(*files) error) error {
	done := make(chan error, len(e.files))
	for _, f := range e.files {
		go func() { done <- do(f) }()
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var errs []error
	for left := len(e.files); left > 0; {
		select {
		case err := <-done:
			errs = append(errs, err)
			left--
		case <-look.C:
			if err := e.stuck(ctx); err != nil {
				return err
			}
		}
	}
	return errors.Join(errs...)
}

func (e *run) stuck(ctx context.Context) error {
	limit := e.spec.Stuck
	if limit == 0 {
		limit = defaultStuck
	}
	if ctx.Err() != nil {
		limit = min(limit, stoppedStuck)
	}
	for _, f := range e.files {
		k := f.working.Load()
		if d := time.Since(time.Unix(0, f.since.Load())); k > 0 && d > limit {
			return &StuckError{Stream: f.stream, Frame: int(k - 1), For: d}
		}
	}
	return nil
}
