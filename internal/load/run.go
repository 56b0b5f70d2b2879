package load

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"linerate/internal/kernel"
)

// limits are the times a load gives others; tests shorten them.
type limits struct {
	proof   time.Duration // for one connection to prove the token
	connect time.Duration // for a source to get one of its streams up
	drain   time.Duration // for a sink's streams to end after its time is over
}

func defaultLimits() limits {
	return limits{proof: 5 * time.Second, connect: 10 * time.Second, drain: time.Second}
}

// Stage is where a load says how far it is, and waits for its start.
type Stage struct {
	// Listening is told where a sink waits for its streams.
	Listening func(netip.AddrPort) error
	// Begin is told that everything is ready, and returns when the load is to begin, with
	// the time from which it counts.
	Begin func(context.Context, Up) (time.Time, error)
}

// Up is what a load that is ready to begin says of itself.
type Up struct {
	TIDs  []int  `json:"tids,omitempty"` // one per stream; empty where threads have no number
	CC    string `json:"cc,omitempty"`   // congestion control in force, where it can be read
	Alone *Alone `json:"alone,omitempty"`
}

// Run makes the load: it brings its streams (or buffers, or file) up, waits at the
// stage's start, and moves data for the time asked. Where it has more streams than cores
// it raises GOMAXPROCS: it expects to be the only work of its process.
//
// Errors: *RefusedError, *UnreachedError, and the cause of ctx.
func (s Spec) Run(ctx context.Context, stage Stage) (Result, error) {
	return run(ctx, s, stage, defaultLimits())
}

func run(ctx context.Context, s Spec, stage Stage, lim limits) (Result, error) {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), s.Streams+2))
	w := &load{spec: s, lim: lim, stage: stage}
	if s.Role == Source || s.Role == Sink {
		return w.streams(ctx)
	}
	return w.alone(ctx)
}

// load is a Spec at work.
type load struct {
	spec  Spec
	lim   limits
	stage Stage
}

func (w *load) streams(ctx context.Context) (Result, error) {
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
	return w.measure(ctx, s)
}

// begin waits for the start, or for the streams to end before it.
func (w *load) begin(ctx context.Context, s *session) (time.Time, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.ended:
			cancel(fmt.Errorf("wait for the start: %w", s.firstError()))
		case <-ctx.Done():
		}
	}()
	return w.stage.Begin(ctx, Up{TIDs: s.tids(), CC: s.streams[0].wire.congestion()})
}

// measure waits for the barrier and reads the streams' counters at the end of
// the warm-up and at the end of the run. It reads the clock with each
// reading, so that being late costs no accuracy.
func (w *load) measure(ctx context.Context, s *session) (Result, error) {
	start, err := w.begin(ctx, s)
	if err != nil {
		return Result{}, err
	}
	s.open()
	if err := s.waitUntil(ctx, start.Add(w.spec.Warmup)); err != nil {
		return Result{}, err
	}
	warm, used, from := s.counts(), cpuUsed(), time.Now()
	perSecond, err := s.eachSecond(ctx, start.Add(w.spec.Warmup), start.Add(w.spec.Duration))
	if err != nil {
		return Result{}, err
	}
	end, read := s.counts(), time.Now()
	cpu := used.until(cpuUsed())
	to, early := s.windowEnd(read, start.Add(w.spec.Duration))
	if w.spec.Role == Sink {
		s.drain(ctx, w.lim.drain)
	}
	s.halt()
	res := s.result(warm, end)
	res.Window, res.Early, res.CPU = to.Sub(from), early, cpu
	if w.spec.Role == Sink {
		res.PerSecond = perSecond
	}
	return res, nil
}

// used is CPU time of this process; nil: the system did not tell.
type used struct{ cpu *time.Duration }

func cpuUsed() used {
	d, err := kernel.CPUUsed()
	if err != nil {
		return used{}
	}
	return used{&d}
}

// until is what was used between two readings.
func (u used) until(later used) *time.Duration {
	if u.cpu == nil || later.cpu == nil {
		return nil
	}
	d := *later.cpu - *u.cpu
	return &d
}
