package explain

import (
	"slices"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// during is the part of a recording that a view has of the seconds between two instants.
func during(e *End, from, to time.Duration) *End {
	if e == nil {
		return nil
	}
	part := *e
	part.Samples = slices.DeleteFunc(slices.Clone(e.Samples), func(s model.Sample) bool { return s.At < from || s.At > to })
	return &part
}

// A live view judges a few seconds, and cannot send a paced probe: there a small queue, a
// policer and late segments are not called losses of the path with confidence, whichever
// seconds are seen. Losses of the path are named all the same.
func TestLossesInAShortView(t *testing.T) {
	for name, lossy := range map[string]bool{
		"loss0.01.cubic": true, "loss0.1.cubic": true, "loss1.cubic": true,
		"smallq50.cubic": false, "policer800.cubic": false, "burst20.cubic": false, "burst300.cubic": false,
		"smallq50.bbr": false, "policer800.bbr": false, "reord1_2ms.cubic": false, "reord0.1_8ms.cubic": false,
		"cases/late-100ms": false, "cases/reordering-15ms": false,
	} {
		c := readRecording(t, name)
		for from := time.Duration(0); from <= 3*time.Second; from += time.Second {
			part := c
			part.Sender, part.Receiver = during(c.Sender, from, from+5*time.Second), during(c.Receiver, from, from+5*time.Second)
			v := Judge(part)
			if lossy && v.Limiter != model.PathLoss || !lossy && v.Limiter == model.PathLoss && v.Confidence >= 0.5 {
				t.Errorf("%s from %v on: %s (%.2f): %s", name, from, v.Limiter, v.Confidence, v.Line)
			}
		}
	}
}

// A window or buffer that is sent at once in each round trip waits in a queue of its own making: the
// round trip swings, and no longer than the line takes for it. What a slow link adds stays put, or is
// more. Values as a lab of 200 Mbit/s and 30 ms had them.
func TestTheQueueOfOnesOwnBursts(t *testing.T) {
	for _, c := range []struct {
		name          string
		held, ceiling float64
		rtt, swing    time.Duration
		behind        bool
	}{
		{"send buffer of 512 KiB, bursts", 512 << 10, 188e6, 41700 * time.Microsecond, 3900 * time.Microsecond, false},
		{"the same behind a link of 95 Mbit/s", 512 << 10, 188e6, 54400 * time.Microsecond, 7900 * time.Microsecond, true},
		{"window of 700 KB behind a link of 95 Mbit/s", 700e3, 188e6, 59 * time.Millisecond, 300 * time.Microsecond, true},
		{"as long as of bursts, but steady", 512 << 10, 188e6, 41700 * time.Microsecond, 300 * time.Microsecond, true},
		{"no line rate is known", 512 << 10, unknown(), 41700 * time.Microsecond, 3900 * time.Microsecond, true},
		{"no queue", 512 << 10, 188e6, 31 * time.Millisecond, 100 * time.Microsecond, false},
	} {
		least := 30100 * time.Microsecond
		o := &model.Conn{RTT: c.rtt, RTTVar: c.swing}
		s := &scene{ceiling: c.ceiling, minRTT: least, snd: &sndView{last: &model.Conn{}, queue: ratio(c.rtt.Seconds(), least.Seconds()), swing: swing(o, least), minRTT: least}}
		if got := s.behindQueue(c.held); got != c.behind {
			t.Errorf("%s: behind a queue %v, want %v", c.name, got, c.behind)
		}
	}
}

// Near the ceiling a window that hardly ever has room takes what is missing; one that is full now
// and then does not.
func TestAFullWindowNearTheCeiling(t *testing.T) {
	for _, c := range []struct {
		rwnd, rate float64
		rtt        time.Duration
		want       model.LimiterID
	}{
		{0.98, 0.88e9, 10300 * time.Microsecond, model.ReceiverWindow},
		{0.98, 0.94e9, 10300 * time.Microsecond, model.None},
		{0.40, 0.88e9, 10300 * time.Microsecond, model.None},
		{0.98, 0.88e9, 13 * time.Millisecond, model.None},
	} {
		v := Judge(knobs{rate: c.rate, rwnd: c.rwnd, rtt: c.rtt, wnd: int64(c.rate / 8 * 0.0101), full: true}.build())
		if v.Limiter != c.want {
			t.Errorf("%.0f Mbit/s, %.0f%% of the time at the window, round trip %v: %s (%s), want %s", c.rate/1e6, 100*c.rwnd, c.rtt, v.Limiter, v.Line, c.want)
		}
	}
}

// A program that sends a file's pages queues more than the send buffer is set to, at once in each round
// trip: the queue that this makes is its own.
func TestBurstOfMoreThanTheBuffer(t *testing.T) {
	least := 30 * time.Millisecond
	o := &model.Conn{RTT: 46 * time.Millisecond, RTTVar: 5 * time.Millisecond}
	v := &sndView{queue: ratio(o.RTT.Seconds(), least.Seconds()), swing: swing(o, least), minRTT: least, last: &model.Conn{SndBuf: 256 << 10}}
	s := &scene{ceiling: 188e6, minRTT: least, snd: v}
	if !s.behindQueue(v.takesIn()) {
		t.Errorf("what a buffer of %s holds does not wait for 16 ms at 188 Mbit/s", size(v.takesIn()))
	}
	v.overBuffer = 2.5
	if s.behindQueue(v.takesIn()) {
		t.Errorf("%s take 28 ms there, half of it on average", size(v.takesIn()))
	}
}

// Of connections that began while they were watched the first seconds are not judged, and carry their part
// all the same.
func TestGoodputOfConnectionsThatBegan(t *testing.T) {
	for _, fresh := range []int{0, 1, 3, 4} {
		c := knobs{streams: 4, samples: 100, minRTT: 30 * time.Millisecond}.build()
		for _, e := range []*End{c.Sender, c.Receiver} {
			for i := range e.Samples {
				for k := range fresh {
					x := &e.Samples[i].Conns[k]
					x.BytesAcked, x.BytesSent, x.BytesReceived = max(0, x.BytesAcked-64<<20), max(0, x.BytesSent-64<<20), max(0, x.BytesReceived-64<<20)
				}
			}
		}
		if got, _ := Carried(c); float64(got) < 0.99*healthy || float64(got) > 1.01*healthy {
			t.Errorf("%d of 4 connections began: %v, want %v", fresh, got, unit.BitRate(healthy))
		}
	}
}

// Each end of a path is read at moments of its own, seconds apart where nobody looks: of that the goodput
// of one connection is no other, nor that of several.
func TestGoodputOfEndsThatAreReadSeldom(t *testing.T) {
	seldom := func(e *End, every, first time.Duration) *End {
		part := *e
		part.Samples = slices.DeleteFunc(slices.Clone(e.Samples), func(s model.Sample) bool { return s.At < first || (s.At-first)%every != 0 })
		return &part
	}
	for _, streams := range []int{1, 2, 64} {
		for _, at := range []struct{ sender, receiver, later time.Duration }{{time.Second, time.Second, 700 * time.Millisecond}, {3 * time.Second, 9 * time.Second, 0},
			{3 * time.Second, 4 * time.Second, 2 * time.Second}, {9 * time.Second, 2 * time.Second, time.Second}} {
			c := knobs{streams: streams, samples: 131}.build()
			c.Sender, c.Receiver = seldom(c.Sender, at.sender, 0), seldom(c.Receiver, at.receiver, at.later)
			if got, _ := Carried(c); float64(got) < 0.99*healthy || float64(got) > 1.01*healthy {
				t.Errorf("%d connections, read every %v and, %v later, every %v: %v, want %v", streams, at.sender, at.later, at.receiver, got, unit.BitRate(healthy))
			}
		}
	}
}
