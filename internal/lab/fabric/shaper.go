package fabric

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"linerate/internal/lab/topology"
)

// maxHeld bounds what one direction keeps in memory, in bytes.
const maxHeld = 256 << 20

type counters struct {
	frames, segments, wireBytes, lost, duplicated, reordered, queueDrops, mtuDrops, malformed, overrun, latest atomic.Int64
}

func (c *counters) snapshot() DirectionStats {
	return DirectionStats{
		Frames: c.frames.Load(), Segments: c.segments.Load(), WireBytes: c.wireBytes.Load(),
		Lost: c.lost.Load(), Duplicated: c.duplicated.Load(), Reordered: c.reordered.Load(),
		QueueDrops: c.queueDrops.Load(), MTUDrops: c.mtuDrops.Load(),
		Malformed: c.malformed.Load(), Overrun: c.overrun.Load(), LatestSend: time.Duration(c.latest.Load()),
	}
}

// shaper is one direction's queue and wire. It is pure: time is a parameter,
// counted from any fixed moment. One goroutine uses it.
type shaper struct {
	shape   topology.Shape
	free    time.Duration // when the wire has sent what is queued
	rng     *rand.Rand
	losing  bool    // in the bad state of the Gilbert model
	order   parcels // in the order of arrival
	late    parcels // held back to be overtaken
	held    int     // bytes in both
	buffers *buffers
	count   counters
}

// parcel is a frame under way.
type parcel struct {
	due   time.Duration
	frame []byte
}

func newShaper(s topology.Shape, seed uint64, b *buffers) *shaper {
	return &shaper{shape: s, rng: rand.New(rand.NewPCG(seed, 0)), buffers: b}
}

// reshape changes the shape; what waits for the wire keeps its place.
func (s *shaper) reshape(now time.Duration, to topology.Shape) {
	waiting := s.backlog(now)
	s.shape = to
	s.free = now + s.airtime(waiting)
}

// backlog is the number of wire bytes waiting or being sent.
func (s *shaper) backlog(now time.Duration) int {
	if s.free <= now || s.shape.Rate <= 0 {
		return 0
	}
	return int(float64(s.free-now) * float64(s.shape.Rate) / 8e9)
}

func (s *shaper) airtime(bytes int) time.Duration {
	if s.shape.Rate <= 0 {
		return 0
	}
	return time.Duration(float64(bytes) * 8e9 / float64(s.shape.Rate))
}

// admit takes a frame that arrived now. With owned the frame is a buffer of
// ours to keep or to give back; otherwise it copies what it keeps.
func (s *shaper) admit(now time.Duration, frame []byte, owned bool) {
	if kept := s.take(now, frame, owned); owned && !kept {
		s.buffers.put(frame)
	}
}

func (s *shaper) take(now time.Duration, frame []byte, owned bool) (kept bool) {
	p, ok := inspect(frame)
	if !ok {
		s.count.malformed.Add(1)
		return false
	}
	s.count.frames.Add(1)
	s.count.segments.Add(int64(p.segments))
	if s.shape.MTU > 0 && p.packetSize() > s.shape.MTU {
		s.count.mtuDrops.Add(int64(p.segments))
		return false
	}
	fits := s.fits(now, &p)
	s.count.queueDrops.Add(int64(p.segments - fits))
	if fits == 0 {
		return false
	}
	wire := p.wire(0, fits)
	s.count.wireBytes.Add(int64(wire))
	s.free = max(s.free, now) + s.airtime(wire)
	return s.deliver(&p, fits, owned)
}

// fits is how many leading segments the queue has room for. One that is not
// TCP passes whole or not at all.
func (s *shaper) fits(now time.Duration, p *superPacket) int {
	room := int(s.shape.Queue) - s.backlog(now)
	if s.shape.Rate <= 0 || p.wire(0, p.segments) <= room {
		return p.segments
	}
	if !p.tcp || room <= 0 {
		return 0
	}
	return min(p.segments-1, room/p.wire(0, 1))
}

// fate is how a segment passes: lost, late, twice or as it is.
type fate int

const (
	passes fate = iota
	isLost
	isLate
	isDoubled
)

// deliver puts the first n segments under way in runs of the same fate. It
// reports whether the frame itself was kept.
func (s *shaper) deliver(p *superPacket, n int, owned bool) (kept bool) {
	due := s.due()
	unit := 1 // segments that share their fate
	if !p.tcp || s.harmless() {
		unit = n
	}
	start, run := 0, passes
	flush := func(end int, next fate) {
		kept = s.dispatch(due, p, start, end, run, owned) || kept
		start, run = end, next
	}
	for i := 0; i < n; i += unit {
		if f := s.draw(); f != run {
			flush(i, f)
		}
	}
	flush(n, passes)
	return kept
}

// harmless: every segment passes once and in order.
func (s *shaper) harmless() bool {
	return s.shape.Loss <= 0 && s.shape.Duplicate <= 0 && s.shape.Reorder <= 0
}

// due is when a frame that the wire has sent now arrives: after the delay with
// its jitter, but never before the one ahead of it.
func (s *shaper) due() time.Duration {
	due := s.free + s.shape.Delay
	if j := s.shape.Jitter; j > 0 {
		due += time.Duration((2*s.rng.Float64() - 1) * float64(j))
	}
	if last, ok := s.order.last(); ok {
		due = max(due, last.due)
	}
	return due
}

// draw decides about one segment.
func (s *shaper) draw() fate {
	switch {
	case s.harmless():
		return passes
	case s.loses():
		return isLost
	case s.shape.Reorder > 0 && s.rng.Float64() < s.shape.Reorder:
		return isLate
	case s.shape.Duplicate > 0 && s.rng.Float64() < s.shape.Duplicate:
		return isDoubled
	}
	return passes
}

// loses draws a loss: each segment on its own, or in bursts by the model of
// Gilbert (1960): a bad state in which all is lost, left with 1/burst and
// entered as often as gives the configured share of losses.
func (s *shaper) loses() bool {
	p, burst := s.shape.Loss, s.shape.LossBurst
	if p <= 0 {
		return false
	}
	if burst <= 1 || p >= 1 {
		return s.rng.Float64() < p
	}
	if s.losing {
		s.losing = s.rng.Float64() >= 1/burst
	} else {
		s.losing = s.rng.Float64() < p/(burst*(1-p))
	}
	return s.losing
}

// dispatch loses, delays or queues segments [a, b). It reports whether the frame
// itself was kept.
func (s *shaper) dispatch(due time.Duration, p *superPacket, a, b int, f fate, owned bool) (kept bool) {
	if a >= b {
		return false
	}
	n := int64(b - a)
	switch f {
	case isLost:
		s.count.lost.Add(n)
		return false
	case isLate:
		s.count.reordered.Add(n)
		return s.push(&s.late, due+s.shape.ReorderBy, p, a, b, owned)
	case isDoubled:
		s.count.duplicated.Add(n)
		s.push(&s.order, due, p, a, b, false)
	}
	return s.push(&s.order, due, p, a, b, owned)
}

// push queues segments [a, b).
func (s *shaper) push(to *parcels, due time.Duration, p *superPacket, a, b int, owned bool) (kept bool) {
	if s.held > maxHeld {
		s.count.overrun.Add(1)
		return false
	}
	whole := b-a == p.segments
	var buf []byte
	switch {
	case whole && owned:
		buf = p.frame
	case whole:
		buf = append(s.buffers.get(len(p.frame)), p.frame...)
	default:
		buf = p.carve(s.buffers.get(len(p.frame)), a, b)
	}
	s.held += len(buf)
	to.push(parcel{due, buf})
	return whole && owned
}

// next is when the frame that leaves first leaves.
func (s *shaper) next() (time.Duration, bool) {
	a, ok := s.order.first()
	b, late := s.late.first()
	switch {
	case late && (!ok || b.due < a.due):
		return b.due, true
	case ok:
		return a.due, true
	}
	return 0, false
}

// pop takes the frame that leaves first; its buffer is the caller's.
func (s *shaper) pop() parcel {
	from := &s.order
	a, ok := s.order.first()
	if b, late := s.late.first(); late && (!ok || b.due < a.due) {
		from = &s.late
	}
	p := from.pop()
	s.held -= len(p.frame)
	return p
}
