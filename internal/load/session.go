package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// block is the size of one write.
const block = 1 << 20

// readSize is how much each of so many streams reads at once: what is written over
// again and again should stay in the caches near the cores. On a host of two cores with
// 2 MiB each, reads of 1 MiB had cost a tenth more.
func readSize(streams int) int { return max(128<<10, block/2/max(1, streams)) }

// stream is one connection and the thread that serves it.
type stream struct {
	wire  *wire
	moved atomic.Int64
	tid   int
	err   error // valid once the session has ended
	zero  zeroCopies
	// Keeps one stream's counter out of another's cache line.
	_ [64]byte
}

// session is the streams of one run.
type session struct {
	spec    Spec
	streams []*stream
	payload []byte        // what sources write, shared; sinks have a buffer each
	file    *cachedFile   // the same as a file; nil: it is written
	gate    chan struct{} // closed at the start barrier
	stopped chan struct{} // closed to end the streams
	stop    atomic.Bool   // the same, for the loops
	ended   chan struct{} // closed once all streams have ended
	endedAt time.Time     // valid once they have
	refused int
	evicted int

	closeOnce sync.Once
	started   bool
}

func newSession(spec Spec) *session {
	return &session{spec: spec, gate: make(chan struct{}), stopped: make(chan struct{}), ended: make(chan struct{})}
}

// take makes streams of proven connections, in the order of their numbers.
func (s *session) take(conns []net.Conn) error {
	for i, c := range conns {
		w, err := newWire(c)
		if err != nil {
			for _, rest := range conns[i:] {
				err = errors.Join(err, rest.Close())
			}
			return fmt.Errorf("prepare stream %d: %w", i, err)
		}
		s.streams = append(s.streams, &stream{wire: w})
	}
	return nil
}

// start brings up one locked, pinned thread per stream. Sinks read from now
// on; sources wait for open.
func (s *session) start(random io.Reader) error {
	if s.spec.Role == Source {
		b, err := newBuffer(block)
		if err != nil {
			return fmt.Errorf("get send buffer: %w", err)
		}
		// Random bytes, so that nothing on the way can compress them.
		if _, err := io.ReadFull(random, b); err != nil {
			return fmt.Errorf("fill send buffer: %w", err)
		}
		s.payload = b
		if s.spec.SendFile {
			if s.file, err = newCachedFile(b, spool); err != nil {
				return err
			}
		}
	}
	ready := make(chan error, len(s.streams))
	var wg sync.WaitGroup
	for i, st := range s.streams {
		wg.Go(func() { st.err = s.serve(st, i, ready) })
	}
	s.started = true
	go func() { wg.Wait(); s.endedAt = time.Now(); close(s.ended) }()
	var err error
	for range s.streams {
		err = errors.Join(err, <-ready)
	}
	return err
}

// serve runs a stream on a thread of its own. The thread is pinned and so
// must not serve others afterwards: it ends with the goroutine, because it is
// never unlocked.
func (s *session) serve(st *stream, i int, ready chan<- error) error {
	runtime.LockOSThread()
	if n := len(s.spec.CPUs); n > 0 {
		if err := pinThread(s.spec.CPUs[i%n]); err != nil {
			ready <- err
			return err
		}
	}
	st.tid = threadID()
	if s.spec.Role == Sink {
		buf, err := newBuffer(readSize(s.spec.Streams))
		ready <- err
		if err != nil {
			return err
		}
		err = s.read(st, buf)
		return errors.Join(err, freeBuffer(buf))
	}
	ready <- nil
	select {
	case <-s.gate:
		return s.write(st)
	case <-s.stopped:
		return nil
	}
}

func (s *session) read(st *stream, buf []byte) error {
	if s.spec.Exchange > 0 {
		return s.answer(st, buf)
	}
	if s.spec.ReadRate > 0 {
		return s.paced(newPace(float64(s.spec.ReadRate)/float64(s.spec.Streams)), func(n int) (int, error) {
			n, err := st.wire.recv(buf[:min(n, len(buf))], s.spec.Discard)
			st.moved.Add(int64(n))
			return n, err
		})
	}
	for !s.stop.Load() {
		n, err := st.wire.recv(buf, s.spec.Discard)
		st.moved.Add(int64(n))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *session) write(st *stream) error {
	if s.spec.Exchange > 0 {
		return s.exchange(st)
	}
	size := len(s.payload)
	if s.spec.WriteSize > 0 {
		size = int(s.spec.WriteSize)
	}
	if s.spec.ZeroCopy {
		if err := st.wire.askZeroCopy(); err != nil {
			return err
		}
	}
	send := func(n int) (int, error) {
		var err error
		switch {
		case s.file != nil:
			n, err = st.wire.sendFile(s.file, min(n, size))
		case s.spec.ZeroCopy:
			n, err = st.wire.sendZero(s.payload[:min(n, size)], &st.zero)
		default:
			n, err = st.wire.send(s.payload[:min(n, size)])
		}
		st.moved.Add(int64(n))
		return n, err
	}
	if s.spec.Rate > 0 {
		return s.paced(newPace(float64(s.spec.Rate)/float64(s.spec.Streams)), send)
	}
	for !s.stop.Load() {
		if _, err := send(size); err != nil {
			return err
		}
	}
	return nil
}

// paced is an application that has or takes its next chunk at a set time. A
// time that was missed because the socket was full is not waited for again.
// move moves up to n bytes.
func (s *session) paced(p pace, move func(n int) (int, error)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	for i := 0; ; i++ {
		// What could not be moved while the other side held it up is lost, not
		// owed: a disk or a codec that was blocked does not catch up.
		if late := time.Since(start.Add(p.due(i))); late > maxLate {
			start = start.Add(late)
		}
		timer.Reset(time.Until(start.Add(p.due(i))))
		select {
		case <-timer.C:
		case <-s.stopped:
			return nil
		}
		for left := p.chunk; left > 0; {
			if s.stop.Load() {
				return nil
			}
			n, err := move(left)
			left -= n
			if err != nil {
				return err
			}
		}
	}
}

// maxLate is how far behind its schedule a slow application may be and still keep
// it: enough for a timer that fires late, less than a queue would notice.
const maxLate = 20 * time.Millisecond

// pace is a schedule of chunks.
type pace struct {
	chunk int // bytes
	every float64
}

// newPace gives the schedule of one stream at rate bits per second: a chunk
// every 10 ms, but none below 1 KiB or above one block.
func newPace(rate float64) pace {
	chunk := min(max(int(rate/8*0.010), 1<<10), block)
	return pace{chunk: chunk, every: float64(chunk) * 8 / rate * float64(time.Second)}
}

// due is when chunk i is ready, from the start. It counts from the start and
// not from the chunk before, so that errors do not add up.
func (p pace) due(i int) time.Duration { return time.Duration(float64(i+1) * p.every) }

func (s *session) open() { close(s.gate) }

// windowEnd is when the window of counters that were read at the time read ended. Streams that
// ended before they were to did so early. On a busy host the reading may come so late that the
// other end has ended them in time: what was read is then what had come when they ended.
func (s *session) windowEnd(read, until time.Time) (end time.Time, early bool) {
	select {
	case <-s.ended:
	default:
		return read, false
	}
	switch {
	case s.endedAt.Before(until):
		return read, true
	case s.endedAt.Before(read):
		return s.endedAt, false
	}
	return read, false
}

// waitUntil returns at t, or before it once all streams have ended.
func (s *session) waitUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// eachSecond returns at a time, or before it once all streams have ended, with what was moved in
// each whole second from the first time on.
func (s *session) eachSecond(ctx context.Context, from, until time.Time) ([]int64, error) {
	c := course{at: from, before: s.total(), next: from.Add(time.Second), until: until}
	for {
		if err := s.waitUntil(ctx, c.next); err != nil {
			return nil, err
		}
		now := time.Now()
		c.read(now, s.total())
		select {
		case <-s.ended:
			return c.seconds, nil
		default:
		}
		if c.next.After(until) {
			return c.seconds, s.waitUntil(ctx, until)
		}
	}
}

// course is what was moved in each second.
type course struct {
	seconds     []int64
	at          time.Time // of the last reading
	before      int64     // what had been moved then
	next, until time.Time // end of the second that is under way, and of the last one
	owed        float64   // moved in it before the last reading
}

// read takes a reading of what has been moved. One that comes late is of its own moment: what it
// shows is spread evenly over the time that it covers.
func (c *course) read(now time.Time, moved int64) {
	rate := float64(moved-c.before) / max(float64(now.Sub(c.at)), 1)
	for !now.Before(c.next) && !c.next.After(c.until) {
		c.seconds = append(c.seconds, int64(c.owed+rate*float64(c.next.Sub(c.at))))
		c.at, c.next, c.owed = c.next, c.next.Add(time.Second), 0
	}
	c.owed += rate * float64(now.Sub(c.at))
	c.at, c.before = now, moved
}

func (s *session) total() (n int64) {
	for _, st := range s.streams {
		n += st.moved.Load()
	}
	return n
}

// drain lets the sources end the streams, so that the bytes of both ends can
// be compared; it waits no longer than d.
func (s *session) drain(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ended:
	case <-ctx.Done():
	}
}

// halt ends the threads and waits for them; one that waits for its socket
// looks up within pollFor.
func (s *session) halt() {
	s.closeOnce.Do(func() {
		s.stop.Store(true)
		close(s.stopped)
	})
	if s.started {
		<-s.ended
	}
}

// close ends and frees everything. Queued data is thrown away: it must not
// load the path of the next run.
func (s *session) close() {
	s.halt()
	for _, st := range s.streams {
		st.wire.close()
	}
	if s.payload != nil {
		// Unmapping what was mapped whole cannot fail; the process ends anyway.
		_ = freeBuffer(s.payload)
		s.payload = nil
	}
	s.file.close()
}

func (s *session) tids() []int {
	var out []int
	for _, st := range s.streams {
		if st.tid != 0 {
			out = append(out, st.tid)
		}
	}
	return out
}

func (s *session) counts() []int64 {
	out := make([]int64, len(s.streams))
	for i, st := range s.streams {
		out[i] = st.moved.Load()
	}
	return out
}

// firstError is what ended the streams; call it once they have ended.
func (s *session) firstError() error {
	for i, st := range s.streams {
		if st.err != nil {
			return fmt.Errorf("stream %d: %w", i, st.err)
		}
	}
	return errors.New("all streams ended")
}

func (s *session) result(warm, end []int64) Result {
	r := Result{Discard: s.spec.Discard && s.spec.Role == Sink, Refused: s.refused, Evicted: s.evicted}
	for i, st := range s.streams {
		sr := StreamResult{Bytes: st.moved.Load(), BytesAfterWarmup: end[i] - warm[i]}
		// The peer ends a sink's stream when its time is over: no fault.
		if st.err != nil && (s.spec.Role == Source || !errors.Is(st.err, errEnded)) {
			sr.Error = st.err.Error()
		}
		if s.spec.ZeroCopy && s.spec.Role == Source {
			// A socket that cannot tell any more has counted what it could.
			_ = st.wire.completions(&st.zero)
			sr.ZeroSends, sr.ZeroCopied = st.zero.done, st.zero.copied
		}
		r.Streams = append(r.Streams, sr)
		r.Bytes += sr.Bytes
		r.BytesAfterWarmup += sr.BytesAfterWarmup
		if s.spec.Role == Source {
			r.Unacked += st.wire.unacked()
		} else {
			r.RecvSpace += st.wire.recvSpace()
		}
	}
	return r
}
