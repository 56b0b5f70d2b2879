package fabric

import (
	"math"
	"testing"
	"time"

	"linerate/internal/lab/topology"
	"linerate/internal/unit"
)

func newTest(s topology.Shape, seed uint64) *shaper { return newShaper(s, seed, &buffers{}) }

// drain empties the shaper and returns when each frame left and its segments.
func drain(s *shaper) (due []time.Duration, segments int) {
	for {
		if _, ok := s.next(); !ok {
			return due, segments
		}
		p := s.pop()
		sp, _ := inspect(p.frame)
		segments += sp.segments
		due = append(due, p.due)
		s.buffers.put(p.frame)
	}
}

func TestShaperChargesSegments(t *testing.T) {
	s := newTest(topology.Shape{Rate: unit.Gbit, Delay: 5 * time.Millisecond, Queue: unit.MiB}, 1)
	s.admit(0, tcpFrame(false, 10*1448, 1448, 0), false)
	s.admit(0, tcpFrame(false, 1448, 1448, 0), false)
	due, _ := drain(s)
	air := 1538 * 8 * time.Nanosecond
	if len(due) != 2 || due[0] != 5*time.Millisecond+10*air || due[1] != due[0]+air {
		t.Errorf("left at %v; want 10 and 11 × %s after the delay", due, air)
	}
}

func TestShaperDropsAtTheTail(t *testing.T) {
	s := newTest(topology.Shape{Rate: unit.Gbit, Queue: 15 * 1538}, 1)
	s.admit(0, tcpFrame(false, 10*1448, 1448, 0), false)
	s.admit(0, tcpFrame(false, 10*1448, 1448, 0), false)
	s.admit(0, tcpFrame(false, 1448, 1448, 0), false)
	due, segments := drain(s)
	if len(due) != 2 || segments != 15 || s.count.queueDrops.Load() != 6 {
		t.Errorf("%d frames, %d segments, %d dropped; want 2, 15, 6", len(due), segments, s.count.queueDrops.Load())
	}
	if got := s.backlog(due[1]); got != 0 {
		t.Errorf("backlog %d after all is sent", got)
	}
}

func TestShaperMTU(t *testing.T) {
	s := newTest(topology.Shape{MTU: 1500}, 1)
	s.admit(0, tcpFrame(false, 3*8948, 8948, 0), false)
	s.admit(0, tcpFrame(false, 3*1448, 1448, 0), false)
	s.admit(0, tcpFrame(false, 1449, 9000, 0), false)
	if due, n := drain(s); len(due) != 1 || n != 3 || s.count.mtuDrops.Load() != 4 {
		t.Errorf("%d frames with %d segments passed, %d dropped; want 1, 3, 4", len(due), n, s.count.mtuDrops.Load())
	}
}

func TestShaperLosesSegments(t *testing.T) {
	const p, frames, each = 0.01, 2000, 45
	s := newTest(topology.Shape{Loss: p}, 7)
	segments := 0
	for i := range frames {
		s.admit(time.Duration(i), tcpFrame(false, each*1448, 1448, 0), false)
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
	s := newTest(topology.Shape{Rate: unit.Gbit, Delay: time.Second, Queue: unit.MiB}, 1)
	s.admit(0, tcpFrame(false, 1448, 1448, 0), false)
	s.reshape(0, topology.Shape{Rate: 100 * unit.Mbit, Queue: unit.MiB})
	if got := s.backlog(0); got < 1530 || got > 1538 {
		t.Errorf("backlog %d after the rate fell; what waits must keep its size", got)
	}
	for range 200 {
		s.admit(0, tcpFrame(false, 20*1448, 1448, 0), false)
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

func TestJitterKeepsOrderAndBounds(t *testing.T) {
	const delay, jitter = 10 * time.Millisecond, 4 * time.Millisecond
	s := newTest(topology.Shape{Delay: delay, Jitter: jitter}, 3)
	early, late := false, false
	for i := range 1000 {
		at := time.Duration(i) * time.Second
		s.admit(at, tcpFrame(false, 1448, 1448, 0), false)
		due, _ := drain(s)
		d := due[0] - at
		if d < delay-jitter || d > delay+jitter {
			t.Fatalf("delayed by %s", d)
		}
		early, late = early || d < delay-jitter/2, late || d > delay+jitter/2
	}
	if !early || !late {
		t.Error("the delay hardly varies")
	}
	for i := range 1000 {
		s.admit(time.Duration(i)*time.Microsecond, tcpFrame(false, 1448, 1448, 0), false)
	}
	due, _ := drain(s)
	for i := 1; i < len(due); i++ {
		if due[i] < due[i-1] {
			t.Fatal("jitter put frames out of order")
		}
	}
}

// Losses come in bursts of the mean length asked for, and as many as asked for.
func TestLossesInBursts(t *testing.T) {
	const p, burst, n = 0.02, 10.0, 400_000
	s := newTest(topology.Shape{Loss: p, LossBurst: burst}, 5)
	lost, bursts, before := 0.0, 0.0, false
	for range n {
		now := s.loses()
		if now {
			lost++
			if !before {
				bursts++
			}
		}
		before = now
	}
	if share := lost / n; math.Abs(share-p) > 0.15*p {
		t.Errorf("lost %.4f, want %.4f", share, p)
	}
	if mean := lost / bursts; math.Abs(mean-burst) > 0.1*burst {
		t.Errorf("bursts of %.2f, want %.1f", mean, burst)
	}
}

func TestDuplicatesAndLatecomers(t *testing.T) {
	s := newTest(topology.Shape{Delay: time.Millisecond, Duplicate: 1}, 1)
	s.admit(0, tcpFrame(false, 3*1448, 1448, 0), false)
	if _, n := drain(s); n != 6 || s.count.duplicated.Load() != 3 {
		t.Errorf("%d segments arrive of 3 that are doubled", n)
	}
	s = newTest(topology.Shape{Delay: time.Millisecond, Reorder: 0.2, ReorderBy: 5 * time.Millisecond}, 1)
	const frames = 500
	for i := range frames {
		s.admit(time.Duration(i)*100*time.Microsecond, tcpFrame(false, 10*1448, 1448, 0), false)
	}
	due, n := drain(s)
	late := float64(s.count.reordered.Load())
	if n != frames*10 || math.Abs(late-0.2*frames*10) > 0.1*0.2*frames*10 {
		t.Errorf("%d segments, %.0f of them late; want %d and %.0f", n, late, frames*10, 0.2*frames*10)
	}
	for i := 1; i < len(due); i++ {
		if due[i] < due[i-1] {
			t.Fatal("frames do not leave in the order of their times")
		}
	}
}
