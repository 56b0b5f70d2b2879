package block

import (
	"context"
	"sync"
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
	// mu is held but while the thread is in its queue, where it may be for as long as
	// the target likes: whoever gets it then may look at the slots.
	mu     sync.Mutex
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
	// taken is how many completions were taken last, 0 after a wait; pushed how many
	// requests were started since; inline: as many were over at once, last time.
	taken, pushed int
	inline        bool
	alike         [2]alike // of the completions that are being taken
	// closed and syncs are of the Spec: asked for every request.
	closed, syncs bool
	seen          seen
	phases        *phases
}

// apace is the most completions of a target that answers by and by that are taken
// before the queue is filled again: taking all that have arrived lets it run dry
// meanwhile, one at a time enters the kernel more often than needed.
const apace = 8

// take is how many completions to take before the queue is filled again. Who had
// to wait has a target with little left to do: it gets its next request at once,
// then twice as many each time, up to apace. Where requests are over by the time
// that they are handed over (the page cache), nobody runs dry, and all are taken but
// one: with none left it would have to wait to find out that they are over.
func (w *worker) take() int {
	most := apace
	if w.inline {
		most = len(w.slots) - 1
	}
	w.taken = max(1, min(2*w.taken, most))
	return w.taken
}

func newWorker(s Spec, q queue, walk *shape.Walk, d *data, clock func() time.Duration, depth int, p *phases) *worker {
	w := &worker{spec: s, phases: p, queue: q, walk: walk, data: d, clock: clock, rec: newRecorder(s),
		closed: s.Shape.Arrivals == shape.Closed, syncs: s.Sync == After, alike: [2]alike{1: {write: true}}, left: -1, slots: make([]slot, depth), ready: make([]time.Duration, depth)}
	for i := range depth {
		w.free = append(w.free, depth-1-i)
	}
	return w
}

// run works until the time is over, or ctx is, then waits for what is in flight.
func (w *worker) run(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := w.phase()
	for {
		now := w.clock()
		if w.spec.Steady != nil {
			end = w.phase()
		}
		if w.stopped = ctx.Err() != nil; w.stopped || now >= end || w.left == 0 {
			break
		}
		// One look at the clock is for all that has arrived by then and for what
		// follows it.
		if err := w.reap(w.take(), now); err != nil {
			return err
		}
		w.blocked = false
		w.fill(now, end)
		if err := w.enter(now, end); err != nil {
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
		if err := w.toQueue(1, w.patience(w.clock())); err != nil {
			return err
		}
		now := w.clock()
		if err := w.reap(len(w.slots), now); err != nil {
			return err
		}
		if err := w.stuck(now); err != nil {
			return err
		}
		if full && len(w.free) > 0 {
			full, w.parted = false, now // no request could have begun sooner
		}
	}
	return nil
}

// count records what was due within the run and never began, because the target
// held every slot: leaving it out would be to forget the worst latencies. Each
// has waited at least until the run was over.
func (w *worker) count(ctx context.Context, end time.Duration) error {
	if w.closed || w.left == 0 {
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
	// Field by field: a whole slot would be put together elsewhere and copied in larger
	// pieces than it was written in, which holds up the processor.
	s.due, s.started, s.offset, s.size = w.next.Due, now, w.next.Offset, w.next.Size
	s.write, s.sync, s.busy, s.request = w.next.Write, false, true, 0
	if w.closed {
		s.due = now
	}
	op := ring.Op{Kind: ring.Read, Len: s.size, Offset: int64(w.spec.From) + s.offset, Tag: uint64(i)}
	switch {
	case w.syncs && w.writes >= w.spec.SyncEvery:
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
	w.pushed++
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
	pushed := w.pushed
	w.pushed = 0
	if arrived := w.queue.Arrived(); arrived > 0 {
		err := w.toQueue(0, 0)
		w.inline = pushed > 0 && w.queue.Arrived()-arrived >= pushed
		return err
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
	if err := w.toQueue(1, max(limit, time.Microsecond)); err != nil {
		return err
	}
	w.taken = 0
	waited := w.clock() - now
	w.idle += waited
	w.seen.waited(waited, len(w.free) == 0 || w.blocked)
	return w.stuck(now)
}

// blockedFor is how long a thread waits before it asks again for a block that
// another has in flight.
const blockedFor = 50 * time.Microsecond

// reap takes up to so many completions, which had arrived by now.
func (w *worker) reap(most int, now time.Duration) error {
	// What a look at the clock found is all there is to be taken by it.
	for range min(most, w.queue.Arrived()) {
		c, ok := w.queue.Next()
		if !ok {
			break
		}
		s := &w.slots[c.Tag]
		s.busy = false
		w.free = append(w.free, int(c.Tag))
		if w.spec.Shape.Think > 0 {
			w.ready[c.Tag] = now + w.spec.Shape.Think
		}
		if !s.sync && int(c.Result) == s.size {
			a := &w.alike[kindOfRequest(s.write)]
			if latency, service := now-s.due, now-s.started; a.latency != latency || a.service != service || a.size != int64(s.size) {
				if err := w.record(a, now); err != nil {
					return err
				}
				a.latency, a.service, a.size = latency, service, int64(s.size)
			}
			a.n++
			a.bytes += int64(s.size)
		} else if err := w.odd(s, int(c.Result), now); err != nil {
			return err
		}
		if w.spec.Journal != nil && s.write {
			w.spec.Journal.ended(s.offset, s.size, s.request, int(c.Result) == s.size)
		}
	}
	if err := w.record(&w.alike[0], now); err != nil {
		return err
	}
	return w.record(&w.alike[1], now)
}

// record takes in requests that were alike.
func (w *worker) record(a *alike, now time.Duration) error {
	if a.n == 0 {
		return nil
	}
	w.ended += a.n
	w.seen.add(a)
	err := w.rec.done(a, now)
	a.n, a.bytes = 0, 0
	return err
}

// odd takes in a sync, or a request that failed or moved too little.
func (w *worker) odd(s *slot, result int, now time.Duration) error {
	switch {
	case s.sync && result >= 0:
		if now < w.rec.from {
			return nil
		}
		return w.rec.syncs.add(now-s.started, 1)
	case s.sync:
		w.rec.fail(Failure{Write: true, Errno: -result})
		return nil
	}
	w.ended++
	w.rec.fail(Failure{Offset: int64(w.spec.From) + s.offset, Write: s.write, Errno: max(0, -result), Moved: max(0, result)})
	return nil
}
