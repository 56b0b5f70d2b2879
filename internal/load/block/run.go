package block

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/kernel"
	"linerate/internal/load/ring"
	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// Result is what a run did in its measured part.
type Result struct {
	Engine   Engine // that was used
	Threads  int
	Depth    int // in flight per thread
	Measured time.Duration
	// Took is from the start, warm-up included, until the last request ended.
	Took time.Duration
	// Latency and Service of reads and writes; Syncs are of both.
	ReadLatency, WriteLatency, ReadService, WriteService, Syncs *Times
	// Seconds of the measured part; the last may be short.
	Seconds []Second
	// Sizes is what was done of each, where there were several.
	Sizes                   []OfSize
	Reads, Writes           int64
	ReadBytes, WrittenBytes int64
	// NotStarted requests were due within the run and never began, because the
	// target held every slot; Latency has them with what they had waited when
	// the run was over. A service time they have not.
	NotStarted int64
	// Failed requests, from the start of the warm-up on, with the first of them.
	Failed   int64
	Failures []Failure
	// Waited is how long the threads had nothing to do but wait for the
	// target, added up: a generator that never waits is what limits the run.
	Waited time.Duration
	// NoCore is how long the threads were ready to go on and had no core, warm-up included; 0
	// where the system does not tell.
	NoCore time.Duration
	// CPU is what this process took in user mode and in the kernel during the
	// whole run, warm-up included, and Requests what it was spent on. The
	// kernel's own threads that work for a ring count as the process.
	UserCPU, SystemCPU time.Duration
	Requests           int64
	// Fetched is what this process read from devices and servers during the
	// measured part, page cache left out; below 0: not known.
	Fetched unit.Bytes
	// Settled is how the target settled before; nil: it was not asked to.
	Settled *Settled
	// NoRing says why Auto did not use a ring; empty: it did.
	NoRing string
}

// Run makes one run. The target is open already: opening it, and what that may
// destroy, is the caller's. Null needs none. A ctx that ends stops the run after
// what is in flight; the Result, of what was measured until then, comes with
// the cause as error.
//
// Errors: a Spec that cannot be had, *StuckError, ring.ErrUnavailable where a
// ring was asked for by name, or what a queue answered. Requests that failed are
// no error: they are counted in the Result.
func Run(ctx context.Context, s Spec, t *Target) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	if s.Engine != Auto {
		return runOn(ctx, s, t)
	}
	s.Engine = Ring
	r, err := runOn(ctx, s, t)
	if !errors.Is(err, ring.ErrUnavailable) {
		return r, err
	}
	// A ring is refused before any request was made.
	why := err
	s.Engine = Calls
	r, err = runOn(ctx, s, t)
	if runtime.GOOS == "linux" { // no other system has any
		r.NoRing = why.Error()
	}
	return r, err
}

func runOn(parent context.Context, s Spec, t *Target) (Result, error) {
	threads, depth := s.Threads, s.Depth
	if s.Engine == Calls {
		threads, depth = s.Threads*s.Depth, 1
	}
	if threads > MaxThreads*4 {
		return Result{}, fmt.Errorf("run workload: %d requests in flight need as many threads without io_uring, want at most %d", threads, MaxThreads*4)
	}
	// Each locked thread needs a place to run, and the runtime one beside.
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(before, threads+2))
	defer runtime.GOMAXPROCS(before)
	if s.Steady != nil && s.Progress == nil {
		s.Progress = &Progress{}
	}
	phase, held := newPhases(s), &watch{spec: s}
	own, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	g, ctx := errgroup.WithContext(own)
	begin, ready := make(chan time.Time), make(chan struct{}, threads)
	results := make([]outcome, threads)
	for i := range threads {
		g.Go(func() error {
			err := one(ctx, s, t, i, threads, depth, phase, held, ready, begin, &results[i])
			if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
				return nil // the echo of another thread's end, or of the caller's
			}
			return err
		})
	}
	for range threads {
		select {
		case <-ready:
		case <-ctx.Done():
		}
	}
	// Not before: where no ring is to be had, calls take its place.
	if s.Progress != nil && s.Engine != Calls && ctx.Err() == nil {
		s.Progress.threads.Add(int64(threads))
	}
	if s.Begin != nil && ctx.Err() == nil {
		if err := s.Begin(ctx); err != nil {
			cancel(err)
			return Result{}, errors.Join(err, g.Wait())
		}
	}
	user, system, err := kernel.CPUTimes()
	if err != nil {
		cancel(err)
		return Result{}, errors.Join(err, g.Wait())
	}
	start := time.Now()
	fetched := fetchedWithin(t, start, phase, s.Duration)
	for range threads {
		select {
		case begin <- start:
		case <-ctx.Done():
		}
	}
	settled, done := settling(ctx, s, phase, start)
	left, werr := held.wait(ctx, g)
	cancel(nil)
	<-done
	got := fetched()
	if left != nil {
		t.abandon()
		return Result{}, left
	}
	if stuck := gatherStuck(results); stuck != nil {
		t.abandon()
		werr = stuck
	}
	res, err := sum(s, threads, depth, results, time.Duration(phase.from.Load()))
	res.Settled = settled
	user2, system2, cerr := kernel.CPUTimes()
	res.UserCPU, res.SystemCPU, res.Fetched = user2-user, system2-system, got
	if werr == nil && stopped(results) {
		werr = context.Cause(parent)
	}
	return res, errors.Join(werr, err, cerr)
}

// settling has the target settle where that is asked for. done is closed when the
// Settled is whole.
func settling(ctx context.Context, s Spec, p *phases, start time.Time) (settled *Settled, done chan struct{}) {
	done = make(chan struct{})
	if s.Steady == nil {
		close(done)
		return nil, done
	}
	settled = &Settled{}
	go func() {
		defer close(done)
		p.settle(ctx, s, start, settled)
	}()
	return settled, done
}

// stopped tells whether a thread ended before its time, or never began.
func stopped(outs []outcome) bool {
	return slices.ContainsFunc(outs, func(o outcome) bool { return o.stopped || o.rec == nil })
}

// fetchedWithin starts to watch what this process fetches from devices and
// servers in the measured part of a run: the warm-up's share must not hide what
// the page cache gave. The function it returns ends that and tells; below 0: not
// known.
func fetchedWithin(t *Target, start time.Time, p *phases, measured time.Duration) func() unit.Bytes {
	if t == nil || !t.accounted() {
		return func() unit.Bytes { return -1 }
	}
	over, told := make(chan struct{}), make(chan unit.Bytes, 1)
	at := func(d time.Duration) unit.Bytes {
		timer := time.NewTimer(time.Until(start.Add(d)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-over:
		}
		return Fetched()
	}
	go func() {
		begun := Fetched()
		select {
		case <-p.known:
		case <-over:
		}
		from := time.Duration(p.from.Load())
		if from > 0 {
			begun = at(from)
		}
		to := at(from + measured)
		if begun < 0 || to < begun {
			to, begun = -1, 0
		}
		told <- to - begun
	}()
	return func() unit.Bytes { close(over); return <-told }
}

// outcome is what one thread leaves.
type outcome struct {
	rec      *recorder
	waited   time.Duration
	noCore   time.Duration
	requests int64
	until    time.Duration
	stopped  bool
	stuck    *StuckError
}

// one runs one thread.
func one(ctx context.Context, s Spec, t *Target, i, threads, depth int, phase *phases, held *watch, ready chan<- struct{}, begin <-chan time.Time, out *outcome) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, err := newData(s, i, depth)
	if err != nil {
		return err
	}
	q, err := newQueue(s.Engine, t, d, depth)
	if err != nil {
		return errors.Join(err, d.free())
	}
	defer func() {
		cerr := q.Close()
		var stuck *StuckError
		if errors.As(err, &stuck) {
			return // the kernel still writes to the buffers: they must stay
		}
		err = errors.Join(err, cerr, d.free())
	}()
	ready <- struct{}{}
	var start time.Time
	select {
	case start = <-begin:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w := newWorker(s, q, shape.NewWalk(s.Shape, s.Seed, i, threads), d, func() time.Duration { return time.Since(start) }, depth, phase)
	if s.Requests > 0 {
		w.left = (s.Requests + int64(threads-1-i)) / int64(threads)
	}
	d.began(start)
	held.add(w)
	before := runDelay()
	err = w.run(ctx)
	out.noCore = max(0, runDelay()-before)
	errors.As(err, &out.stuck) // it is returned, too
	out.until, out.stopped = w.clock(), w.stopped
	out.rec, out.waited, out.requests = w.rec, w.idle, w.ended
	return err
}

// runDelay is how long this thread, which is locked, was runnable without a core since it began; 0
// where the system does not tell.
func runDelay() time.Duration {
	b, err := kernel.Root("/").ReadFile("/proc/thread-self/schedstat")
	if err != nil {
		return 0
	}
	_, delay, err := kernel.ParseSchedstat(b)
	if err != nil {
		return 0
	}
	return delay
}

func newQueue(e Engine, t *Target, d *data, depth int) (queue, error) {
	switch e {
	case Null:
		return newNull(depth), nil
	case Calls:
		return &calls{file: t.file, buffer: d.memory}, nil
	}
	r, err := ring.New(depth)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.RegisterFiles([]int32{t.fd()}), r.RegisterBuffers([][]byte{d.memory})); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// sum adds the threads up.
func sum(s Spec, threads, depth int, outs []outcome, from time.Duration) (Result, error) {
	r := Result{Engine: s.Engine, Threads: threads, Depth: depth, ReadLatency: newTimes(), WriteLatency: newTimes(),
		ReadService: newTimes(), WriteService: newTimes(), Syncs: newTimes()}
	for _, o := range outs {
		if o.rec == nil {
			continue // ended before it began
		}
		if err := errors.Join(r.ReadLatency.Merge(o.rec.latency[0]), r.WriteLatency.Merge(o.rec.latency[1]),
			r.ReadService.Merge(o.rec.service[0]), r.WriteService.Merge(o.rec.service[1]), r.Syncs.Merge(o.rec.syncs)); err != nil {
			return Result{}, err
		}
		if err := r.addSizes(o.rec.sizes); err != nil {
			return Result{}, err
		}
		r.Measured = max(r.Measured, min(o.until-from, s.Duration))
		r.Took = max(r.Took, o.until)
		r.Waited += o.waited
		r.NoCore += o.noCore
		r.Requests += o.requests
		r.Failed += o.rec.failed
		r.NotStarted += o.rec.unbegun
		r.Failures = append(r.Failures, o.rec.failures...)
		r.addSeconds(o.rec.seconds)
	}
	r.Failures = r.Failures[:min(len(r.Failures), maxFailures)]
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Errno != 0 {
			f.Why = errorOf(f.Errno).Error()
		}
	}
	for len(r.Seconds) > 0 && r.Seconds[len(r.Seconds)-1] == (Second{}) {
		r.Seconds = r.Seconds[:len(r.Seconds)-1]
	}
	for _, sec := range r.Seconds {
		r.Reads += sec.Reads
		r.Writes += sec.Writes
		r.ReadBytes += sec.ReadBytes
		r.WrittenBytes += sec.WrittenBytes
	}
	return r, nil
}

// addSizes adds what was done of each size, which another thread, target or host may
// have in another order.
func (r *Result) addSizes(sizes []OfSize) error {
	for _, z := range sizes {
		i := slices.IndexFunc(r.Sizes, func(o OfSize) bool { return o.Size == z.Size })
		if i < 0 {
			i = len(r.Sizes)
			r.Sizes = append(r.Sizes, OfSize{Size: z.Size, Latency: newTimes()})
		}
		r.Sizes[i].Requests += z.Requests
		if err := r.Sizes[i].Latency.Merge(z.Latency); err != nil {
			return err
		}
	}
	return nil
}

func (r *Result) addSeconds(seconds []Second) {
	for i, s := range seconds {
		if i == len(r.Seconds) {
			r.Seconds = append(r.Seconds, Second{})
		}
		r.Seconds[i].merge(s)
	}
}

// ProcessCPU is what this process has taken so far, kernel included.
func ProcessCPU() (time.Duration, error) {
	user, system, err := kernel.CPUTimes()
	return user + system, err
}
