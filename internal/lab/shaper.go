package lab

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"linerate/internal/unit"
)

// Shape is what one direction of a link does to frames.
type Shape struct {
	// Rate is charged per segment with its Ethernet overhead, so that small
	// packets cost what they cost on a wire. 0 is unlimited.
	Rate  unit.BitRate  `json:"rate_bps"`
	Delay time.Duration `json:"delay"` // one way, after the queue
	// Loss is the probability that a segment is lost after it has used the
	// wire, each independently.
	Loss float64 `json:"loss"`
	// MTU is the largest IP packet that passes; larger ones vanish without a
	// word, as in a switch. 0 is any.
	MTU   int        `json:"mtu"`
	Queue unit.Bytes `json:"queue"` // waiting wire bytes; what is more is dropped at the tail
}

// maxHeld bounds what the emulator keeps in memory per direction, in bytes.
const maxHeld = 256 << 20

// DirectionStats counts what one direction has done since the link came up, in
// wire segments unless it says otherwise.
type DirectionStats struct {
	Frames     int64         `json:"frames"` // super-packets count once
	Segments   int64         `json:"segments"`
	WireBytes  int64         `json:"wire_bytes"` // of what went over the wire, overhead included
	Lost       int64         `json:"lost"`       // by Shape.Loss
	QueueDrops int64         `json:"queue_drops"`
	MTUDrops   int64         `json:"mtu_drops"`
	Malformed  int64         `json:"malformed"`   // frames not understood
	Overrun    int64         `json:"overrun"`     // frames lost by the emulator itself: a warning
	LatestSend time.Duration `json:"latest_send"` // the most that a frame left after its time
}

type counters struct {
	frames, segments, wireBytes, lost, queueDrops, mtuDrops, malformed, overrun, latest atomic.Int64
}

func (c *counters) snapshot() DirectionStats {
	return DirectionStats{
		Frames: c.frames.Load(), Segments: c.segments.Load(), WireBytes: c.wireBytes.Load(),
		Lost: c.lost.Load(), QueueDrops: c.queueDrops.Load(), MTUDrops: c.mtuDrops.Load(),
		Malformed: c.malformed.Load(), Overrun: c.overrun.Load(), LatestSend: time.Duration(c.latest.Load()),
	}
}

// shaper is one direction's queue and wire. It is pure: time is a parameter,
// counted from any fixed moment. One goroutine uses it.
type shaper struct {
	shape Shape
	free  time.Duration // when the wire has sent what is queued
	rng   *rand.Rand
	fifo  []parcel
	head  int
	held  int // bytes in fifo
	small [][]byte
	large [][]byte
	count counters
}

// parcel is a frame under way.
type parcel struct {
	due   time.Duration
	frame []byte
}

func newShaper(s Shape, seed uint64) *shaper {
	return &shaper{shape: s, rng: rand.New(rand.NewPCG(seed, 0))}
}

// reshape changes the shape; what waits for the wire keeps its place.
func (s *shaper) reshape(now time.Duration, to Shape) {
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

// admit takes a frame that arrived now. It copies what it keeps.
func (s *shaper) admit(now time.Duration, frame []byte) {
	p, ok := inspect(frame)
	if !ok {
		s.count.malformed.Add(1)
		return
	}
	s.count.frames.Add(1)
	s.count.segments.Add(int64(p.segments))
	if s.shape.MTU > 0 && p.packetSize() > s.shape.MTU {
		s.count.mtuDrops.Add(int64(p.segments))
		return
	}
	fits := s.fits(now, &p)
	s.count.queueDrops.Add(int64(p.segments - fits))
	if fits == 0 {
		return
	}
	wire := p.wire(0, fits)
	s.count.wireBytes.Add(int64(wire))
	s.free = max(s.free, now) + s.airtime(wire)
	s.deliver(&p, fits)
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

// deliver puts the first n segments under way, but for those that are lost.
func (s *shaper) deliver(p *superPacket, n int) {
	due := s.free + s.shape.Delay
	if s.head < len(s.fifo) { // a shorter delay does not overtake
		due = max(due, s.fifo[len(s.fifo)-1].due)
	}
	start := 0
	for i := 0; s.shape.Loss > 0 && i < n; i++ {
		if s.rng.Float64() >= s.shape.Loss {
			continue
		}
		if !p.tcp {
			s.count.lost.Add(int64(n))
			return
		}
		s.count.lost.Add(1)
		s.push(due, p, start, i)
		start = i + 1
	}
	s.push(due, p, start, n)
}

// push queues segments [a, b).
func (s *shaper) push(due time.Duration, p *superPacket, a, b int) {
	if a >= b {
		return
	}
	if s.held > maxHeld {
		s.count.overrun.Add(1)
		return
	}
	buf := s.buffer(len(p.frame))
	if b-a == p.segments {
		buf = append(buf, p.frame...)
	} else {
		buf = p.carve(buf, a, b)
	}
	s.held += len(buf)
	s.fifo = append(s.fifo, parcel{due, buf})
}

// next is the frame that leaves first and when.
func (s *shaper) next() (parcel, bool) {
	if s.head == len(s.fifo) {
		return parcel{}, false
	}
	return s.fifo[s.head], true
}

// pop forgets the frame that next gave; its bytes are used again.
func (s *shaper) pop() {
	f := s.fifo[s.head].frame
	s.fifo[s.head].frame = nil
	s.head++
	s.held -= len(f)
	s.recycle(f)
	if s.head*2 >= len(s.fifo) && s.head > 64 || s.head == len(s.fifo) {
		n := copy(s.fifo, s.fifo[s.head:])
		clear(s.fifo[n:])
		s.fifo, s.head = s.fifo[:n], 0
	}
}

// Buffers come in two sizes, so that neither acknowledgements waste memory nor
// super-packets make garbage.
const (
	smallBuffer = 2 << 10
	largeBuffer = 68 << 10
)

func (s *shaper) buffer(n int) []byte {
	pool, size := &s.small, smallBuffer
	if n > smallBuffer {
		pool, size = &s.large, max(largeBuffer, n)
	}
	if k := len(*pool); k > 0 {
		b := (*pool)[k-1]
		*pool = (*pool)[:k-1]
		return b
	}
	return make([]byte, 0, size)
}

func (s *shaper) recycle(b []byte) {
	if cap(b) >= largeBuffer {
		s.large = append(s.large, b[:0])
	} else {
		s.small = append(s.small, b[:0])
	}
}
