package block

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/load/ring"
	"linerate/internal/load/shape"
)

// slot is one request in flight.
type slot struct {
	due, started time.Duration
	offset       int64
	size         int
	write, sync  bool
	busy         bool
	request      uint64 // of its stamp, if it writes
}

// worker is one locked thread with its queue.
type worker struct {
	spec   Spec
	queue  queue
	walk   *shape.Walk
	data   *data
	clock  func() time.Duration // since the common start
	rec    *recorder
	slots  []slot
	free   []int
	next   shape.Request
	has    bool // next is drawn and not yet started
	writes int  // since the last sync
	idle   time.Duration
	left   int64 // requests that may still be started; below 0: no bound
	ended  int64
	// think: when each slot may start again.
	ready []time.Duration
	// parted is when the run was over and a slot was free: what was due before
	// and had not begun, did not.
	parted time.Duration
	// stopped: the run was told to end before its time.
	stopped bool
	// blocked: the next request waits for a block that has a write in flight.
	blocked bool
	seen    seen
	phases  *phases
}

// batch is how many completions are taken before the queue is filled again.
// Taking all that have arrived lets the target run dry meanwhile; one at a time
// enters the kernel more often than needed.
const batch = 4

func newWorker(s Spec, q queue, walk *shape.Walk, d *data, clock func() time.Duration, depth int, p *phases) *worker {
	w := &worker{spec: s, phases: p, queue: q, walk: walk, data: d, clock: clock, rec: newRecorder(s.Warmup, s.Duration),
		left: -1, slots: make([]slot, depth), ready: make([]time.Duration, depth)}
	for i := range depth {
		w.free = append(w.free, depth-1-i)
	}
	return w
}

// errStuck is the cause when a request does not come back.
var errStuck = errors.New("the target does not answer")

// run works until the time is over, or ctx is, then waits for what is in flight.
func (w *worker) run(ctx context.Context) error {
	end := w.phase()
	for {
		now := w.clock()
		if w.spec.Steady != nil {
			end = w.phase()
		}
		if w.stopped = ctx.Err() != nil; w.stopped || now >= end || w.left == 0 {
			break
		}
		w.blocked = false
		w.fill(now, end)
		if err := w.enter(now, end); err != nil {
			return err
		}
		if err := w.reap(batch); err != nil {
			return err
		}
		if w.spec.Progress != nil {
			w.seen.tell(w.spec.Progress)
		}
	}
	if err := w.drain(); err != nil {
		return err
	}
	return w.count(ctx, end)
}

// phase learns where the measured part begins, and returns where it ends.
func (w *worker) phase() time.Duration {
	w.rec.from = time.Duration(w.phases.from.Load())
	return w.rec.from + w.spec.Duration
}

// drain waits for what is still out: it has been due within the run, and counts.
func (w *worker) drain() error {
	w.parted = w.clock()
	full := len(w.free) == 0
	for len(w.free) < len(w.slots) {
		if err := w.queue.Enter(1, w.patience(w.clock())); err != nil {
			return err
		}
		if err := w.reap(len(w.slots)); err != nil {
			return err
		}
		if err := w.stuck(w.clock()); err != nil {
			return err
		}
		if full && len(w.free) > 0 {
			full, w.parted = false, w.clock() // no request could have begun sooner
		}
	}
	return nil
}

// count records what was due within the run and never began, because the target
// held every slot: leaving it out would be to forget the worst latencies. Each
// has waited at least until the run was over.
func (w *worker) count(ctx context.Context, end time.Duration) error {
	if w.spec.Shape.Arrivals == shape.Closed || w.left == 0 {
		return nil
	}
	until := min(end, w.parted)
	for n := 0; ; n++ {
		if !w.has {
			w.next, w.has = w.walk.Next(), true
		}
		if w.next.Due >= until {
			return nil
		}
		if err := w.rec.missed(w.next.Write, w.parted-w.next.Due); err != nil {
			return err
		}
		w.has = false
		if n%(1<<16) == 0 && n > 0 && ctx.Err() != nil {
			return nil // what was not counted is as late as what was
		}
	}
}

// fill starts requests that are due while there are slots.
func (w *worker) fill(now, end time.Duration) {
	for len(w.free) > 0 && w.left != 0 {
		if !w.has {
			w.next, w.has = w.walk.Next(), true
		}
		if w.next.Due > now || w.next.Due >= end {
			return
		}
		i := w.rested()
		if w.ready[i] > now {
			return // thinks
		}
		if !w.start(i, now) {
			return
		}
	}
}

// rested puts the free slot that may start first on top of the others and
// returns it. Without a think time all may start, and the last one freed, whose
// buffer is still in the cache, is on top already.
func (w *worker) rested() int {
	top := len(w.free) - 1
	if w.spec.Shape.Think > 0 {
		for k, i := range w.free {
			if w.ready[i] < w.ready[w.free[top]] {
				w.free[k], w.free[top] = w.free[top], i
			}
		}
	}
	return w.free[top]
}

// start pushes the next request from slot i.
func (w *worker) start(i int, now time.Duration) bool {
	s := &w.slots[i]
	*s = slot{due: w.next.Due, started: now, offset: w.next.Offset, size: w.next.Size, write: w.next.Write, busy: true}
	if w.spec.Shape.Arrivals == shape.Closed {
		s.due = now
	}
	op := ring.Op{Kind: ring.Read, Len: s.size, Offset: int64(w.spec.From) + s.offset, Tag: uint64(i)}
	switch {
	case w.spec.Sync == After && w.writes >= w.spec.SyncEvery:
		*s = slot{due: now, started: now, sync: true, busy: true}
		op = ring.Op{Kind: ring.Fdatasync, Tag: uint64(i)}
	case s.write && w.spec.Journal != nil && !w.spec.Journal.claim(s.offset, s.size):
		s.busy, w.blocked = false, true
		return false
	case s.write:
		op.Kind = ring.Write
		op.From = w.data.write(i, op.Offset, s.size, now)
		s.request = w.data.stamp.Request
	default:
		op.From = w.data.read(i)
	}
	if !w.queue.Push(op) {
		if s.write && w.spec.Journal != nil {
			w.spec.Journal.release(s.offset, s.size)
		}
		s.busy = false
		return false
	}
	w.free = w.free[:len(w.free)-1]
	if s.sync {
		w.writes = 0
		return true
	}
	if s.write {
		w.writes++
	}
	w.has = false
	w.left--
	return true
}

// enter submits, and waits when there is nothing to reap and nothing to start.
func (w *worker) enter(now, end time.Duration) error {
	if w.queue.Arrived() > 0 {
		return w.queue.Enter(0, 0)
	}
	limit := min(end-now, w.patience(now))
	if w.blocked { // by another thread's write, perhaps, which nothing here tells of
		limit = min(limit, blockedFor)
	}
	if len(w.free) > 0 {
		if w.has && w.next.Due > now {
			limit = min(limit, w.next.Due-now)
		}
		if at := w.ready[w.rested()]; at > now {
			limit = min(limit, at-now)
		}
	}
	if err := w.queue.Enter(1, max(limit, time.Microsecond)); err != nil {
		return err
	}
	w.idle += w.clock() - now
	return w.stuck(now)
}

// blockedFor is how long a thread waits before it asks again for a block that
// another has in flight.
const blockedFor = 50 * time.Microsecond

// reap takes up to so many completions.
func (w *worker) reap(most int) error {
	for range most {
		c, ok := w.queue.Next()
		if !ok {
			return nil
		}
		now := w.clock()
		s := &w.slots[c.Tag]
		s.busy = false
		w.free = append(w.free, int(c.Tag))
		if !s.sync {
			w.ended++
		}
		w.ready[c.Tag] = now + w.spec.Shape.Think
		if w.spec.Journal != nil && s.write {
			w.spec.Journal.ended(s.offset, s.size, s.request, int(c.Result) == s.size)
		}
		switch {
		case s.sync && c.Result >= 0:
			if now >= w.rec.from {
				if err := w.rec.syncs.add(now - s.started); err != nil {
					return err
				}
			}
		case s.sync:
			w.rec.fail(Failure{Write: true, Errno: -int(c.Result)})
		case int(c.Result) != s.size:
			w.rec.fail(Failure{Offset: int64(w.spec.From) + s.offset, Write: s.write, Errno: max(0, -int(c.Result)), Moved: max(0, int(c.Result))})
		default:
			if err := w.rec.done(s, now); err != nil {
				return err
			}
			w.seen.add(s.size, now-s.due)
		}
	}
	return nil
}

// patience is how long to wait before looking whether a request is stuck.
func (w *worker) patience(time.Duration) time.Duration { return min(w.stuckAfter(), time.Second) }

func (w *worker) stuckAfter() time.Duration {
	after := w.spec.Stuck
	if after == 0 {
		after = defaultStuck
	}
	if w.stopped {
		after = min(after, stoppedStuck)
	}
	return after
}

// StuckError names the requests that did not come back.
type StuckError struct {
	After time.Duration
	Out   []Failure // without a result
}

// Error says how many, and the first of them.
func (e *StuckError) Error() string {
	f := e.Out[0]
	kind := "read"
	if f.Write {
		kind = "write"
	}
	return fmt.Sprintf("%v for %v: %d requests are out, the first a %s at offset %d", errStuck, e.After, len(e.Out), kind, f.Offset)
}

// Unwrap tells that the target does not answer.
func (e *StuckError) Unwrap() error { return errStuck }

func (w *worker) stuck(now time.Duration) error {
	after := w.stuckAfter()
	for i := range w.slots {
		if w.slots[i].busy && now-w.slots[i].started > after {
			return &StuckError{after, w.out()}
		}
	}
	return nil
}

// out are the requests in flight. It is garbage, which the loop must not make: only
// for a run that is over.
func (w *worker) out() (out []Failure) {
	for _, s := range w.slots {
		if s.busy {
			out = append(out, Failure{Offset: int64(w.spec.From) + s.offset, Write: s.write || s.sync})
		}
	}
	return out
}
