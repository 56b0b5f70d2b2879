package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/unit"
)

// Hooks are what whoever asked for a load does meanwhile; nil ones do nothing.
type Hooks struct {
	// Say is told what is being done.
	Say func(text string)
	// Filling is told that a target is being filled.
	Filling func(text string)
	// Watch returns what the run is to tell of itself, nil: nothing, and what is
	// called when it is over.
	Watch func(work string, takes time.Duration) (*block.Progress, func())
	// Begin returns when the run is to begin (see block.Spec).
	Begin func(context.Context) error
	// Memory is the limit that the process has put on itself; nil: none.
	Memory func() *block.Memory
}

func (h Hooks) say(format string, args ...any) {
	if h.Say != nil {
		h.Say(fmt.Sprintf(format, args...))
	}
}

func (h Hooks) watch(work string, takes time.Duration) (*block.Progress, func()) {
	if h.Watch == nil {
		return nil, func() {}
	}
	return h.Watch(work, takes)
}

// Measured is a run with what else was seen of it.
type Measured struct {
	Result  block.Result  `json:"result"`
	Witness block.Witness `json:"witness"`
	Spec    block.Spec    `json:"spec"` // as it was run, its area known
	// Filled names what was written before the run; empty: nothing was.
	Filled string `json:"filled,omitempty"`
	// Flush is what a sync at the end took, which is part of the measured time.
	Flush time.Duration `json:"flush_ns,omitempty"`
	// Dropped: the page cache was asked to forget the target before.
	Dropped bool `json:"dropped,omitempty"`
}

// NullTime is how long the generator is tried alone before a run.
const NullTime = 300 * time.Millisecond

// openTarget opens the target of a run, which it names in its stamps. A refusal
// says what to do.
func openTarget(ctx context.Context, s block.Spec, destroy string) (*block.Target, block.Spec, error) {
	var err error
	if s.Run, err = block.RunNumber(); err != nil {
		return nil, s, err
	}
	if s.Engine != block.Null {
		t, s, err := Open(ctx, s, destroy)
		return t, s, Refusal(err, s.Path)
	}
	if s.Shape.Area == 0 {
		s.Shape.Area = unit.GiB // the engine without a target gets an area to work on
	}
	return nil, s, nil
}

// Open is block.Open that gives up on a target whose server does not answer.
func Open(ctx context.Context, s block.Spec, destroy string) (*block.Target, block.Spec, error) {
	var t *block.Target
	opened := s
	err := block.Within(ctx, cmp.Or(s.Stuck, block.StuckAfter), "open "+s.Path, func() (err error) {
		t, opened, err = block.Open(s, destroy)
		return err
	})
	if err != nil {
		return nil, s, err // t and opened are whoever's still opens it
	}
	return t, opened, nil
}

// Refusal adds what to do to what block.Open answered.
func Refusal(err error, path string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, block.ErrNotNamedTwice), errors.Is(err, block.ErrNotOurs):
		return load.Refuse("%w: --destroy %s", err, path)
	case errors.Is(err, block.ErrInUse):
		return load.Refuse("%w: mounted, or part of a pool, array or swap; look with lsblk. --destroy %s writes to it all the same", err, path)
	case errors.Is(err, block.ErrShort):
		return load.Refuse("%w; choose a smaller --area, or make the file longer", err)
	}
	return err
}

// fillHoles refuses a file with parts that were never written, or writes them:
// a read of such a part moves nothing. It returns the name that the filling has
// in its stamps, empty where there was none.
func fillHoles(ctx context.Context, h Hooks, t *block.Target, s block.Spec, fill bool) (string, error) {
	if s.Shape.Read <= 0 {
		return "", nil
	}
	var holes []block.Span
	err := block.Within(ctx, cmp.Or(s.Stuck, block.StuckAfter), "look for holes in "+s.Path, func() (err error) { holes, err = t.Holes(s); return err })
	if err != nil || len(holes) == 0 {
		return "", err
	}
	var n unit.Bytes
	for _, h := range holes {
		n += h.Size
	}
	if !fill {
		return "", load.Refuse("read %s: %v of the %v that the workload reads were never written, and reading those costs nothing: --fill writes them first", s.Path, n, s.Shape.Area)
	}
	// Data of its own: a run that wrote the same would find its work done.
	if s.Run, err = block.RunNumber(); err != nil {
		return "", err
	}
	h.say("fill %s: %v were never written", s.Path, n)
	if h.Filling != nil {
		h.Filling(s.Path)
	}
	return RunName(s.Run), block.Fill(ctx, s, holes)
}

// RunName is how a run's number is printed.
func RunName(n uint64) string { return fmt.Sprintf("%016x", n) }

// Opened is a target that is ready for runs: what they read is there.
type Opened struct {
	Task   BlockTask     // its Spec with the area, and the number of the next run
	Target *block.Target // nil: the engine without one
	filled string
	used   bool // the number of the run is
}

// OpenBlock opens the target of a task, and fills it if that was asked for. Where only
// the filling failed, what was opened comes with the error, and is to be closed.
func OpenBlock(ctx context.Context, h Hooks, task BlockTask) (*Opened, error) {
	t, s, err := openTarget(ctx, task.Spec, task.Destroy)
	if err != nil {
		return nil, err
	}
	task.Spec = s
	o := &Opened{Task: task, Target: t}
	if err := s.Check(); err != nil {
		return o, load.Refuse("%w; see linerate load block --help", err)
	}
	if t != nil {
		o.filled, err = fillHoles(ctx, h, t, s, task.Fill)
	}
	return o, err
}

// Close closes descriptors only: what was written is the kernel's since.
func (o *Opened) Close() error {
	if o == nil || o.Target == nil {
		return nil
	}
	return o.Target.Close()
}

// next is the Spec of another run: what an earlier one wrote is no work for it. The page
// cache has forgotten the target where that was asked for.
func (o *Opened) next(ctx context.Context) (s block.Spec, err error) {
	if o.used {
		if o.Task.Spec.Run, err = block.RunNumber(); err != nil {
			return s, err
		}
	}
	o.used = true
	if o.Task.DropCache && o.Target != nil {
		err = o.Target.Forget(ctx, o.Task.Spec.Stuck)
	}
	return o.Task.Spec, err
}

// Run makes a run. A ctx that ends stops it: what was measured comes with the cause.
func (o *Opened) Run(ctx context.Context, h Hooks) (Measured, error) {
	s, err := o.next(ctx)
	if err != nil {
		return Measured{}, err
	}
	m, err := h.measured(ctx, []block.Spec{s}, func() (block.Result, error) { return h.one(ctx, s, o.Target, o.Task.Name) })
	if m.Filled = o.filled; o.Target != nil {
		m.Dropped = o.Task.DropCache
		m.Witness.Size, m.Witness.Occupied = o.Target.Size, o.Target.Occupied()
	}
	return m, err
}

// Block opens the target, fills it if that was asked for, and runs the workload once.
func Block(ctx context.Context, task BlockTask, h Hooks) (Measured, error) {
	o, err := OpenBlock(ctx, h, task)
	defer func() { _ = o.Close() }() // with an error too: it may be open
	if err != nil {
		return Measured{}, err
	}
	return o.Run(ctx, h)
}

// one makes the run of a Spec.
func (h Hooks) one(ctx context.Context, s block.Spec, t *block.Target, name string) (block.Result, error) {
	takes, first := s.Warmup+s.Duration, ""
	if s.Steady != nil {
		takes = 0 // as long as it does
		first = fmt.Sprintf(", once %d rounds of %v are steady", block.SteadyWindow, s.Steady.Round)
	}
	h.say("%s on %s: %d in flight, for %v%s", name, s.Path, s.Threads*s.Depth, s.Warmup+s.Duration, first)
	seen, done := h.watch(name, takes)
	defer done()
	s.Progress, s.Begin = seen, h.Begin
	return block.Run(ctx, s, t)
}

// measured tries the generator alone, then makes the runs of the Specs, which are alike.
func (h Hooks) measured(ctx context.Context, specs []block.Spec, run func() (block.Result, error)) (Measured, error) {
	m := Measured{Spec: specs[0], Witness: block.Witness{Occupied: -1, Dirty: -1, Buffered: specs[0].Buffered(), Unproven: specs[0].Unproven()}}
	if err := h.roomFor(specs...); err != nil {
		return m, err
	}
	null, err := alone(ctx, specs[0])
	if err != nil {
		return m, err
	}
	m.Witness.Null = null * float64(len(specs))
	before, out := block.Dirty(), block.WrittenOut()
	m.Result, err = run()
	if after := block.Dirty(); before >= 0 && after >= 0 {
		m.Witness.Dirty, m.Witness.Waiting = max(0, after-before), &after
	}
	if after := block.WrittenOut(); out >= 0 && after >= out {
		after -= out
		m.Witness.Out = &after
	}
	m.Witness.Memory = h.memory()
	return m, err
}

// alone is the rate of the generator on a target that does nothing.
func alone(ctx context.Context, s block.Spec) (float64, error) {
	r, err := block.Run(ctx, block.NullSpec(s, NullTime), nil)
	if err != nil || r.Measured <= 0 {
		return 0, err
	}
	return float64(r.Reads+r.Writes) / r.Measured.Seconds(), nil
}
