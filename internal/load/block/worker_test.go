package block

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"linerate/internal/load/ring"
	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// world is a target in virtual time: each request takes serve, one after the
// other, and nothing completes during a stall.
type world struct {
	now, free   time.Duration
	serve       time.Duration
	from, until time.Duration // of the stall
	out         []pending
	hang        bool
	bad         int64 // the offset that gives an error; 0: none does
}

type pending struct {
	tag  uint64
	at   time.Duration
	size int
}

// eio is what the bad offset answers (EIO).
const eio = 5

func (w *world) clock() time.Duration { return w.now }

func (w *world) Push(o ring.Op) bool {
	start := max(w.now, w.free)
	end := start + w.serve
	if end > w.from && start < w.until {
		end = w.until + w.serve
	}
	w.free = end
	answer := o.Len
	if w.bad > 0 && o.Offset == w.bad {
		answer = -eio
	}
	w.out = append(w.out, pending{o.Tag, end, answer})
	return true
}

func (w *world) Enter(wait int, limit time.Duration) error {
	if wait == 0 {
		return nil
	}
	to := w.now + limit
	if len(w.out) > 0 && !w.hang && w.out[0].at < to {
		to = w.out[0].at
	}
	w.now = max(w.now, to)
	return nil
}

func (w *world) Arrived() int {
	n := 0
	for _, p := range w.out {
		if !w.hang && p.at <= w.now {
			n++
		}
	}
	return n
}

func (w *world) Next() (ring.Completion, bool) {
	if w.Arrived() == 0 {
		return ring.Completion{}, false
	}
	p := w.out[0]
	w.out = w.out[1:]
	return ring.Completion{Tag: p.tag, Result: int32(p.size)}, true
}

func (w *world) Close() error { return nil }

func run(t *testing.T, w *world, s Spec) (*worker, error) {
	t.Helper()
	wk := workerOn(t, w, s)
	return wk, wk.run(context.Background())
}

func workerOn(t *testing.T, w *world, s Spec) *worker {
	t.Helper()
	return workerOnQueue(t, w, w.clock, s)
}

func runOnQueue(t *testing.T, q queue, clock func() time.Duration, s Spec) (*worker, error) {
	t.Helper()
	w := workerOnQueue(t, q, clock, s)
	return w, w.run(context.Background())
}

func workerOnQueue(t *testing.T, q queue, clock func() time.Duration, s Spec) *worker {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	d, err := newData(s, 0, s.Depth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.free(); err != nil {
			t.Error(err)
		}
	})
	return newWorker(s, q, shape.NewWalk(s.Shape, s.Seed, 0, 1), d, clock, s.Depth, newPhases(s))
}

func spec() Spec {
	return Spec{Path: "x", Threads: 1, Depth: 4, Engine: Auto, Sync: None, Duration: 10 * time.Second, Run: 5,
		Shape: shape.Shape{Pattern: shape.Random, Read: 1, Sizes: []shape.SizeShare{{Size: 4 * unit.KiB, Share: 1}}, Area: unit.MiB, Arrivals: shape.Closed}}
}

// Under a rate, a stall of 100 ms is 100 ms for the request that was due when it
// began, and the rest of the stall for each that was due in it; the service time
// shows it to four requests only.
func TestLatencyCountsFromTheIntendedStart(t *testing.T) {
	s := spec()
	s.Shape.Arrivals, s.Shape.Rate = shape.Uniform, 1000
	w := &world{serve: 100 * time.Microsecond, from: 5 * time.Second, until: 5100 * time.Millisecond}
	wk, err := run(t, w, s)
	if err != nil {
		t.Fatal(err)
	}
	// The truth from the schedule: requests are due every millisecond and
	// served in order.
	var want []time.Duration
	free := time.Duration(0)
	for due := time.Duration(0); due < s.Duration; due += time.Millisecond {
		start := max(due, free)
		end := start + w.serve
		if end > w.from && start < w.until {
			end = w.until + w.serve
		}
		free = end
		want = append(want, end-due)
	}
	slices.Sort(want)
	got := wk.rec.latency[0]
	if got.Count() != int64(len(want)) {
		t.Fatalf("%d requests, want %d", got.Count(), len(want))
	}
	for _, q := range []float64{0.5, 0.99, 0.999} {
		truth := want[int(math.Ceil(q*float64(len(want))))-1]
		if v := got.Quantile(q); math.Abs(float64(v-truth)) > 0.01*float64(truth)+2 {
			t.Errorf("the %v quantile is %v, from the schedule %v", q, v, truth)
		}
	}
	if want := want[len(want)-1]; got.Max != want {
		t.Errorf("the longest latency is %v, want %v", got.Max, want)
	}
	service := wk.rec.service[0]
	if v := service.Quantile(0.999); v > time.Millisecond {
		t.Errorf("the service time's quantile is %v: the stall held up four requests of 10000", v)
	}
	if wk.rec.seconds[5].MaxLatency != got.Max || wk.rec.seconds[4].MaxLatency > time.Millisecond {
		t.Errorf("the stall is not in its second: %+v", wk.rec.seconds)
	}
}

// Without a rate, as many requests as there is depth are out, and what ends
// after the run does not count as its rate.
func TestClosedLoop(t *testing.T) {
	s := spec()
	s.Duration, s.Warmup = 2*time.Second, time.Second
	w := &world{serve: time.Millisecond}
	wk, err := run(t, w, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, sec := range wk.rec.seconds {
		if sec.Reads < 999 || sec.Reads > 1001 || sec.ReadBytes != sec.Reads*4096 {
			t.Errorf("second %d: %+v", i, sec)
		}
	}
	if got := wk.rec.latency[0].Quantile(0.5); got < 3900*time.Microsecond || got > 4100*time.Microsecond {
		t.Errorf("latency %v of 4 requests of 1 ms that wait for each other", got)
	}
	if len(wk.free) != s.Depth {
		t.Error("requests are still out")
	}
}

func TestThinkTime(t *testing.T) {
	s := spec()
	s.Depth, s.Shape.Think = 1, 9*time.Millisecond
	wk, err := run(t, &world{serve: time.Millisecond}, s)
	if err != nil {
		t.Fatal(err)
	}
	if n := wk.rec.latency[0].Count(); n < 999 || n > 1001 {
		t.Errorf("%d requests of 1 ms with 9 ms of thought in 10 s", n)
	}
}

// Each of several requests in flight pauses for itself.
func TestThinkTimeOfSeveralSlots(t *testing.T) {
	s := spec()
	s.Shape.Think = 9 * time.Millisecond
	// One at a time takes 0.1 to 0.4 ms, so that a slot's round is at most
	// 9.4 ms and at least 9.1.
	wk, err := run(t, &world{serve: 100 * time.Microsecond}, s)
	if err != nil {
		t.Fatal(err)
	}
	if n := wk.rec.latency[0].Count(); n < 4240 || n > 4400 {
		t.Errorf("%d requests of 4 slots with 9 ms of thought in 10 s", n)
	}
}

// A target that answers half as fast as requests are due has the other half of
// them waiting when the run is over: they count, with what they have waited.
func TestRequestsThatNeverBeganCount(t *testing.T) {
	s := spec()
	s.Shape.Arrivals, s.Shape.Rate = shape.Uniform, 1000
	wk, err := run(t, &world{serve: 2 * time.Millisecond}, s)
	if err != nil {
		t.Fatal(err)
	}
	all, begun := wk.rec.latency[0], wk.rec.service[0].Count()
	if all.Count() != 10000 || wk.rec.unbegun != 10000-begun || begun < 4990 || begun > 5010 {
		t.Fatalf("%d requests, %d begun, %d not, of 10000 that were due", all.Count(), begun, wk.rec.unbegun)
	}
	// The k-th is due after k ms and ends after 2(k+1) ms, so the slowest that
	// began took 5 s; those that did not are due from 5 s on and had waited 5 s
	// to nothing when it was over. Half took at least 2.5 s.
	if p50 := all.Quantile(0.5); p50 < 2400*time.Millisecond || p50 > 2600*time.Millisecond {
		t.Errorf("the median is %v, want 2.5 s", p50)
	}
	if p99 := all.Quantile(0.99); p99 < 4900*time.Millisecond || p99 > 5010*time.Millisecond {
		t.Errorf("p99 is %v, want 4.95 s", p99)
	}
}

// A run that is stopped counts what was due until then, and no more.
func TestStoppedRunCountsUntilItsEnd(t *testing.T) {
	s := spec()
	s.Shape.Arrivals, s.Shape.Rate = shape.Uniform, 1000
	ctx, cancel := context.WithCancel(context.Background())
	w := &world{serve: 2 * time.Millisecond}
	wk := workerOn(t, w, s)
	wk.clock = func() time.Duration {
		if w.now >= 2*time.Second {
			cancel()
		}
		return w.now
	}
	if err := wk.run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := wk.rec.latency[0].Count(); n < 1995 || n > 2010 {
		t.Errorf("%d requests were due in 2 s of 1000 a second", n)
	}
}

// A request that does not come back ends the run and is named.
func TestStuckTargetIsNamed(t *testing.T) {
	s := spec()
	s.Stuck = 3 * time.Second
	s.Shape.Read = 0
	_, err := run(t, &world{serve: time.Millisecond, hang: true}, s)
	var stuck *StuckError
	if !errors.As(err, &stuck) || len(stuck.Out) != 4 || !stuck.Out[0].Write {
		t.Fatalf("%v", err)
	}
	for _, f := range stuck.Out {
		if f.Offset < 0 || f.Offset >= int64(s.Shape.Area) {
			t.Errorf("%+v", f)
		}
	}
}

func TestSyncsFollowWrites(t *testing.T) {
	s := spec()
	s.Shape.Read, s.Sync, s.SyncEvery, s.Depth = 0, After, 4, 1
	wk, err := run(t, &world{serve: time.Millisecond}, s)
	if err != nil {
		t.Fatal(err)
	}
	writes, syncs := wk.rec.latency[1].Count(), wk.rec.syncs.Count()
	if writes < 7990 || writes > 8010 || syncs < writes/4-1 || syncs > writes/4+1 {
		t.Errorf("%d writes, %d syncs", writes, syncs)
	}
}

// Whoever watches sees what was completed, and the longest latency since the
// last look.
func TestProgress(t *testing.T) {
	s := spec()
	s.Progress = &Progress{}
	wk, err := run(t, &world{serve: time.Millisecond, from: 5 * time.Second, until: 6 * time.Second}, s)
	if err != nil {
		t.Fatal(err)
	}
	requests, bytes, longest := s.Progress.Look()
	if n := wk.rec.latency[0].Count(); requests > n || requests < n-int64(s.Depth) || bytes != requests*4096 {
		t.Errorf("%d requests and %d bytes of %d", requests, bytes, n)
	}
	if longest != wk.rec.latency[0].Max {
		t.Errorf("longest %v, want %v", longest, wk.rec.latency[0].Max)
	}
	if _, _, again := s.Progress.Look(); again != 0 {
		t.Errorf("nothing since: %v", again)
	}
}

// What holds a run is where its threads' time goes.
func TestLimitedBy(t *testing.T) {
	held := func(rate float64, engine Engine) string {
		s := spec()
		s.Progress, s.Duration, s.Shape.Rate, s.Shape.Arrivals = &Progress{}, time.Second, rate, shape.Uniform
		if rate == 0 {
			s.Shape.Arrivals = shape.Closed
		}
		if _, err := run(t, &world{serve: time.Millisecond}, s); err != nil {
			t.Fatal(err)
		}
		if engine != Calls { // as a run says of itself
			s.Progress.threads.Add(1)
		}
		return s.Progress.LimitedBy(s.Duration)
	}
	if got := held(0, Ring); got != ByTarget {
		t.Errorf("all requests out: held by %q", got)
	}
	if got := held(100, Ring); got != ByRate {
		t.Errorf("one in 10 ms, which takes 1: held by %q", got)
	}
	if got := held(0, Calls); got != "" {
		t.Errorf("threads that wait in the kernel: held by %q", got)
	}
	busy := &Progress{}
	busy.threads.Add(1)
	if got := busy.LimitedBy(time.Second); got != ByHost {
		t.Errorf("a thread that never waits: held by %q", got)
	}
}

// An error at one offset is counted and located; the run goes on over all others,
// to its end, and the errors are in neither rate nor latency.
func TestErrorAtOneOffset(t *testing.T) {
	s := spec()
	s.Shape.Pattern, s.Shape.Rate, s.Shape.Arrivals, s.Duration = shape.Sequential, 0, shape.Closed, time.Second
	s.Shape.Area = 16 * s.Shape.Sizes[0].Size
	bad := int64(5 * s.Shape.Sizes[0].Size)
	w := &world{serve: time.Millisecond, bad: bad}
	k, err := run(t, w, s)
	if err != nil {
		t.Fatal(err)
	}
	good := k.rec.latency[0].Count() + k.rec.latency[1].Count()
	passes := k.ended / 16
	if passes < 10 || k.rec.failed < passes || k.rec.failed > passes+1 || good != k.ended-k.rec.failed {
		t.Errorf("%d requests in %d passes: %d failed, %d succeeded", k.ended, passes, k.rec.failed, good)
	}
	for _, f := range k.rec.failures {
		if f.Offset != bad || f.Errno != eio {
			t.Fatalf("%+v, want errors at %d only", f, bad)
		}
	}
}

// The loop of a worker makes no garbage: a collection would be in the latencies.
func TestLoopAllocatesNothing(t *testing.T) {
	s := spec()
	s.Shape.Rate, s.Shape.Arrivals, s.Duration, s.Shape.Read = 0, shape.Closed, 100*time.Millisecond, 0.5
	s.Run = 7
	long := s
	long.Duration = 400 * time.Millisecond
	allocations := func(s Spec) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := run(t, &world{serve: 50 * time.Microsecond, out: make([]pending, 0, 1<<16)}, s); err != nil {
				t.Fatal(err)
			}
		})
	}
	// What is made before and after the loop is the same for both; the fake makes some
	// for itself.
	if few, many := allocations(s), allocations(long); many-few > 50 {
		t.Errorf("%.0f allocations in 100 ms, %.0f in 400 ms, of 8000 requests", few, many)
	}
}

// waves is a target that answers all that it has at once, and only when somebody
// waits for it; or, if inline, whatever it is given, at once. It notes how much it is
// given each time.
type waves struct {
	inline     bool
	now        time.Duration
	given      int // since the last Enter
	out, ready []ring.Completion
	handed     []int
	waited     []bool
}

func (w *waves) clock() time.Duration { return w.now }

func (w *waves) Push(o ring.Op) bool {
	w.given++
	w.out = append(w.out, ring.Completion{Tag: o.Tag, Result: int32(o.Len)})
	return true
}

func (w *waves) Enter(wait int, _ time.Duration) error {
	w.handed, w.waited = append(w.handed, w.given), append(w.waited, wait > 0)
	w.given = 0
	w.now += time.Microsecond
	if wait > 0 || w.inline {
		w.ready, w.out = append(w.ready, w.out...), nil
	}
	return nil
}

func (w *waves) Arrived() int { return len(w.ready) }

func (w *waves) Next() (ring.Completion, bool) {
	if len(w.ready) == 0 {
		return ring.Completion{}, false
	}
	c := w.ready[0]
	w.ready = w.ready[1:]
	return c, true
}

func (w *waves) Close() error { return nil }

// A target that has run dry gets a request at once and more each time; one that
// answers at once gets as much as there may be in flight.
func TestQueueIsFilledAsTheTargetAnswers(t *testing.T) {
	s := spec()
	s.Depth, s.Duration = 32, 100*time.Microsecond
	for _, c := range []struct {
		name   string
		inline bool
		want   []int
	}{
		{"in waves", false, []int{32, 1, 2, 4, 8, 8, 8, 1, 1, 2, 4, 8, 8, 8, 1}},
		// What it was first given had arrived by a wait, which says nothing.
		{"at once", true, []int{32, 1, 2, 4, 8, 16, 31, 31, 31}},
	} {
		w := &waves{inline: c.inline}
		if _, err := runOnQueue(t, w, w.clock, s); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := w.handed[:len(c.want)]; !slices.Equal(got, c.want) {
			t.Errorf("%s: handed over %v, want %v", c.name, got, c.want)
		}
		for i := range c.want[:len(c.want)-1] {
			if w.waited[i] != (i == 0 || !c.inline && (i == 7 || i == 14)) {
				t.Errorf("%s: waited %v at handing over %v", c.name, w.waited[:i+1], w.handed[:i+1])
				break
			}
		}
	}
}
