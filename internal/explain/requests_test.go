package explain

import (
	"math"
	"testing"
	"time"

	"linerate/internal/model"
)

// requesting makes the client of a share or disk: requests a second of a size, each
// for so long from start to end; depth as a disk tells it.
func requesting(of string, perSecond int64, size int64, life time.Duration, depth int64, edits ...func(i int, s *model.Sample)) Case {
	c := Watched(knobs{rate: float64(perSecond * size * 8), rtt: 10 * time.Millisecond}.build().Receiver, model.Known(bitRate(1e9)))
	for i := range c.Receiver.Samples {
		s := &c.Receiver.Samples[i]
		n := perSecond * int64(i) / 10
		s.Requests = &model.RequestCount{Of: of, Name: "x", Depth: depth, Read: model.RequestOp{Ops: n, Bytes: n * size, Time: life * time.Duration(n)}}
		for _, edit := range edits {
			edit(i, s)
		}
	}
	return c
}

func TestRequests(t *testing.T) {
	const ms = time.Millisecond
	// A window that is taken for full because just what was asked for comes.
	windowFull := func(_ int, s *model.Sample) {
		s.Conns[0].RcvRTT, s.Conns[0].RcvWnd = 10*ms, 70000
	}
	for _, tc := range []struct {
		name string
		c    Case
		want model.LimiterID
		most float64
	}{
		{"one request at a time, each a round trip", requesting(model.OfSMB, 80, 65536, 12*ms, 0), model.RequestConcurrency, 0.7},
		{"commands wait for a place", requesting(model.OfDisk, 150, 65536, 60*ms, 2), model.RequestConcurrency, 0.7},
		{"one large command at a time", requesting(model.OfDisk, 50, 1<<20, 19*ms, 1), model.RequestConcurrency, 0.7},
		{"the server takes its time", requesting(model.OfSMB, 20, 1<<20, 300*ms, 0, inBursts), model.ServerTime, 0.7},
		{"the disk behind the server takes its time", requesting(model.OfDisk, 20, 1<<20, 300*ms, 128, inBursts), model.ServerTime, 0.7},
		{"the application asks for little", requesting(model.OfSMB, 20, 1<<20, 15*ms, 0, inBursts), model.ApplicationSink, 0.7},
		{"few requests and a small window that is not in the way", requesting(model.OfSMB, 80, 32768, 12*ms, 0, windowFull), model.RequestConcurrency, 0.7},
		{"one at a time, and segments that came out of order", requesting(model.OfSMB, 50, 1<<20, 19*ms, 0, gaps), model.RequestConcurrency, 0.7},
		{"too few requests", requesting(model.OfDisk, 1, 65536, 50*ms, 128), model.Undetermined, 0.3},
		{"the link is full", requesting(model.OfDisk, 110, 1<<20, 70*ms, 128), model.None, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := Judge(tc.c)
			if v.Limiter != tc.want || v.Confidence > tc.most {
				t.Errorf("got %s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
			}
			if v.Limiter == model.RequestConcurrency && (v.Host != "server1" || v.Where != model.AtReceiver) {
				t.Errorf("the client reads, yet the limiter is at %s (%s)", v.Where, v.Host)
			}
			checkVerdict(t, tc.c, v)
		})
	}
}

func TestQueueForTheDevice(t *testing.T) {
	// 100 commands a second, each 50 ms from start to end: 5 are under way, and
	// of a device that takes 2 each was there for 20 ms (Little's law).
	v := nfsView{calls: 400, life: 0.05, rtt: 0.05, inflight: 5}
	v.queueFor(2, 4)
	if v.inflight != 2 || v.rtt != 0.02 || math.Abs(v.queue-0.03) > 1e-9 || v.slots != 2 {
		t.Errorf("%+v", v)
	}
	w := nfsView{calls: 400, life: 0.05, rtt: 0.05, inflight: 5}
	if w.queueFor(32, 4); w.inflight != 5 || w.queue != 0 {
		t.Errorf("%+v", w)
	}
}
