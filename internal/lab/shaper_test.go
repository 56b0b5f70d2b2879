package lab

import (
	"math"
	"testing"
	"time"

	"linerate/internal/unit"
)

// drain empties the shaper and returns when each frame left and its segments.
func drain(s *shaper) (due []time.Duration, segments int) {
	for {
		p, ok := s.next()
		if !ok {
			return due, segments
		}
		sp, _ := inspect(p.frame)
		segments += sp.segments
		due = append(due, p.due)
		s.pop()
	}
}

func TestShaperChargesSegments(t *testing.T) {
	s := newShaper(Shape{Rate: unit.Gbit, Delay: 5 * time.Millisecond, Queue: unit.MiB}, 1)
	s.admit(0, tcpFrame(false, 10*1448, 1448, 0))
	s.admit(0, tcpFrame(false, 1448, 1448, 0))
	due, _ := drain(s)
	air := 1538 * 8 * time.Nanosecond
	if len(due) != 2 || due[0] != 5*time.Millisecond+10*air || due[1] != due[0]+air {
		t.Errorf("left at %v; want 10 and 11 × %s after the delay", due, air)
	}
}

func TestShaperDropsAtTheTail(t *testing.T) {
	s := newShaper(Shape{Rate: unit.Gbit, Queue: 15 * 1538}, 1)
	s.admit(0, tcpFrame(false, 10*1448, 1448, 0))
	s.admit(0, tcpFrame(false, 10*1448, 1448, 0))
	s.admit(0, tcpFrame(false, 1448, 1448, 0))
	due, segments := drain(s)
	if len(due) != 2 || segments != 15 || s.count.queueDrops.Load() != 6 {
		t.Errorf("%d frames, %d segments, %d dropped; want 2, 15, 6", len(due), segments, s.count.queueDrops.Load())
	}
	if got := s.backlog(due[1]); got != 0 {
		t.Errorf("backlog %d after all is sent", got)
	}
}

func TestShaperMTU(t *testing.T) {
	s := newShaper(Shape{MTU: 1500}, 1)
	s.admit(0, tcpFrame(false, 3*8948, 8948, 0))
	s.admit(0, tcpFrame(false, 3*1448, 1448, 0))
	s.admit(0, tcpFrame(false, 1449, 9000, 0))
	if due, n := drain(s); len(due) != 1 || n != 3 || s.count.mtuDrops.Load() != 4 {
		t.Errorf("%d frames with %d segments passed, %d dropped; want 1, 3, 4", len(due), n, s.count.mtuDrops.Load())
	}
}

func TestShaperLosesSegments(t *testing.T) {
	const p, frames, each = 0.01, 2000, 45
	s := newShaper(Shape{Loss: p}, 7)
	segments := 0
	for i := range frames {
		s.admit(time.Duration(i), tcpFrame(false, each*1448, 1448, 0))
		_, n := drain(s)
		segments += n
	}
	lost := s.count.lost.Load()
	n := float64(frames * each)
	if segments+int(lost) != frames*each {
		t.Errorf("%d passed and %d lost of %d", segments, lost, frames*each)
	}
	if sd := math.Sqrt(n * p * (1 - p)); math.Abs(float64(lost)-n*p) > 4*sd {
		t.Errorf("lost %d of %.0f, want %.0f ± %.0f", lost, n, n*p, 4*sd)
	}
}

func TestShaperKeepsOrderAndBuffers(t *testing.T) {
	s := newShaper(Shape{Rate: unit.Gbit, Delay: time.Second, Queue: unit.MiB}, 1)
	s.admit(0, tcpFrame(false, 1448, 1448, 0))
	s.reshape(0, Shape{Rate: 100 * unit.Mbit, Queue: unit.MiB})
	if got := s.backlog(0); got < 1530 || got > 1538 {
		t.Errorf("backlog %d after the rate fell; what waits must keep its size", got)
	}
	for range 200 {
		s.admit(0, tcpFrame(false, 20*1448, 1448, 0))
	}
	due, _ := drain(s)
	for i := 1; i < len(due); i++ {
		if due[i] < due[i-1] {
			t.Fatalf("frame %d leaves before frame %d", i, i-1)
		}
	}
	if s.held != 0 {
		t.Errorf("%d bytes still held", s.held)
	}
}

// fakePort hands out frames one by one and stops the direction at the end.
type fakePort struct {
	frames [][]byte
	waits  []time.Duration
	sent   [][]byte
	now    time.Duration
	d      *direction
	start  time.Time
	age    time.Duration // of the next frame at start
	apart  time.Duration // the next ones came so much later each
}

func (p *fakePort) Next() ([]byte, time.Time) {
	if len(p.frames) == 0 {
		return nil, time.Time{}
	}
	return p.frames[0], p.start.Add(-p.age)
}

func (p *fakePort) Release() {
	p.frames = p.frames[1:]
	p.age -= p.apart
}

func (p *fakePort) Wait(d time.Duration, _ bool) error {
	p.waits = append(p.waits, d)
	p.now += d
	if d == longestWait {
		p.d.stop.Store(true)
	}
	return nil
}

func (p *fakePort) Send(f []byte) (bool, error) {
	p.sent = append(p.sent, f)
	return true, nil
}

func TestDirectionWaitsForItsTime(t *testing.T) {
	p := &fakePort{frames: [][]byte{tcpFrame(false, 10, 1448, 0), tcpFrame(false, 20, 1448, 0)}}
	d := newDirection(p, p, Shape{Delay: 3 * time.Millisecond}, 1, func() time.Duration { return p.now })
	p.d = d
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	if len(p.sent) != 2 || len(p.waits) != 2 || p.waits[0] != 3*time.Millisecond {
		t.Errorf("sent %d frames after waits %v; want 2 after 3ms", len(p.sent), p.waits)
	}
	if late := d.shaper.count.snapshot().LatestSend; late != 0 {
		t.Errorf("sent %s late", late)
	}
}

// A thread that was held up for 20 ms finds frames that came in that time. The
// wire sent them meanwhile: the queue was never full.
func TestDirectionCountsTimeWhileItWasHeldUp(t *testing.T) {
	p := &fakePort{now: time.Second, start: time.Now(), age: 20 * time.Millisecond, apart: time.Millisecond}
	for range 20 {
		p.frames = append(p.frames, tcpFrame(false, 10*1448, 1448, 0)) // 0.12 ms of wire each
	}
	d := newDirection(p, p, Shape{Rate: unit.Gbit, Delay: 5 * time.Millisecond, Queue: 20 * 1538}, 1, func() time.Duration { return p.now })
	p.d = d
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	if c := d.shaper.count.snapshot(); len(p.sent) != 20 || c.QueueDrops != 0 {
		t.Errorf("%d frames passed, %d segments dropped; want 20 and none", len(p.sent), c.QueueDrops)
	}
}
