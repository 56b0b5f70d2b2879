package block

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"linerate/internal/unit"
)

// RunMany makes a run on each of several targets at once, and adds them up. The
// runs begin together, once all are under way; the first Spec's Begin is called
// then. One that fails ends the others.
//
// The sum's CPU and Fetched are the process's, as each run saw them: they are
// not added. Errors are Run's, with the target's name.
func RunMany(parent context.Context, specs []Spec, targets []*Target) (Result, []Result, error) {
	threads, memory := 0, unit.Bytes(0)
	for _, s := range specs {
		if err := s.Check(); err != nil {
			return Result{}, nil, err
		}
		n := s.Threads
		if s.Engine == Calls {
			n *= s.Depth
		}
		threads += n
		memory += s.Memory()
	}
	if memory > MaxMemory {
		return Result{}, nil, fmt.Errorf("run workload: all targets together need %v of memory, want at most %v", memory, MaxMemory)
	}
	// As much as the runs need together: each of them leaves it at that.
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(before, threads+2))
	defer runtime.GOMAXPROCS(before)
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	results, errs := make([]Result, len(specs)), make([]error, len(specs))
	var wg sync.WaitGroup
	g := &gathering{left: len(specs), all: make(chan struct{})}
	if len(specs) > 0 {
		g.begin = specs[0].Begin
	}
	for i, s := range specs {
		s.Begin = g.wait
		wg.Go(func() {
			if results[i], errs[i] = Run(ctx, s, targets[i]); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return added(parent, specs, results, errs)
}

// gathering is where the runs of one process wait for each other.
type gathering struct {
	begin func(context.Context) error // nil: none
	mu    sync.Mutex
	left  int
	all   chan struct{} // closed once the last one is there, and begin has returned
	err   error         // for after all
}

// wait is the Begin of each run.
func (g *gathering) wait(ctx context.Context) error {
	g.mu.Lock()
	g.left--
	last := g.left == 0
	g.mu.Unlock()
	if last {
		if g.begin != nil {
			g.err = g.begin(ctx)
		}
		close(g.all)
	}
	select {
	case <-g.all:
		return g.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// added sums runs up, and leaves out errors that are only the echo of another.
func added(parent context.Context, specs []Spec, results []Result, errs []error) (Result, []Result, error) {
	var all Result
	var err error
	for i, r := range results {
		if e := errs[i]; e != nil && !(parent.Err() == nil && errors.Is(e, context.Canceled)) {
			err = errors.Join(err, fmt.Errorf("%s: %w", specs[i].Path, e))
		}
		if r.ReadLatency == nil {
			continue // it did not begin
		}
		if merr := all.merge(r); merr != nil {
			return all, results, errors.Join(err, merr)
		}
	}
	return all, results, err
}

// merge adds the run of another target that ran at the same time.
func (r *Result) merge(o Result) error {
	if r.ReadLatency == nil {
		*r = Result{Engine: o.Engine, Depth: o.Depth, Fetched: o.Fetched, ReadLatency: newTimes(), WriteLatency: newTimes(),
			ReadService: newTimes(), WriteService: newTimes(), Syncs: newTimes()}
	}
	err := errors.Join(r.ReadLatency.Merge(o.ReadLatency), r.WriteLatency.Merge(o.WriteLatency), r.ReadService.Merge(o.ReadService),
		r.WriteService.Merge(o.WriteService), r.Syncs.Merge(o.Syncs), r.addSizes(o.Sizes))
	if r.NoRing == "" {
		r.NoRing = o.NoRing
	}
	if r.Settled == nil || o.Settled != nil && !o.Settled.Reached {
		r.Settled = o.Settled // the one that says less
	}
	r.Threads += o.Threads
	r.Measured = max(r.Measured, o.Measured)
	r.Took = max(r.Took, o.Took)
	r.addSeconds(o.Seconds)
	r.Reads += o.Reads
	r.Writes += o.Writes
	r.ReadBytes += o.ReadBytes
	r.WrittenBytes += o.WrittenBytes
	r.NotStarted += o.NotStarted
	r.Failed += o.Failed
	r.Failures = append(r.Failures, o.Failures...)
	r.Failures = r.Failures[:min(len(r.Failures), maxFailures)]
	r.Waited += o.Waited
	r.NoCore += o.NoCore
	r.Requests += o.Requests
	r.UserCPU, r.SystemCPU = max(r.UserCPU, o.UserCPU), max(r.SystemCPU, o.SystemCPU)
	if r.Fetched >= 0 && o.Fetched >= 0 {
		r.Fetched = max(r.Fetched, o.Fetched)
	} else {
		r.Fetched = -1
	}
	return err
}

// AddHost adds the run of another host that ran at the same time: other than
// targets of one process, hosts have CPUs and counters of their own.
func (r *Result) AddHost(o Result) error {
	user, system, fetched := r.UserCPU+o.UserCPU, r.SystemCPU+o.SystemCPU, r.Fetched+o.Fetched
	if r.ReadLatency != nil && (r.Fetched < 0 || o.Fetched < 0) {
		fetched = -1
	}
	if err := r.merge(o); err != nil {
		return err
	}
	r.UserCPU, r.SystemCPU, r.Fetched = user, system, fetched
	return nil
}

// Flushed makes durable what the runs wrote and adds the time that took to the
// measured part, as of tools that count a flush.
func (r *Result) Flushed(took time.Duration) { r.Measured, r.Took = r.Measured+took, r.Took+took }
