package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

const readSize = 262144

// mounted makes the client of an NFS mount that reads: calls a second, and
// the three times of a call.
func mounted(perSecond int64, queue, rtt, life time.Duration, edits ...func(i int, s *model.Sample)) Case {
	c := Watched(knobs{rate: float64(perSecond) * readSize * 8, rtt: 10 * time.Millisecond}.build().Receiver, model.Known(bitRate(1e9)))
	for i := range c.Receiver.Samples {
		s := &c.Receiver.Samples[i]
		n := perSecond * int64(i) / 10
		op := model.NFSOp{Ops: n, BytesRecv: n * readSize, BytesSent: n * 200, Queue: queue * time.Duration(n), RTT: rtt * time.Duration(n), Execute: life * time.Duration(n)}
		s.NFS = &model.NFSCount{Mount: "/mnt/nas", Ops: map[string]model.NFSOp{"READ": op}, MaxSlots: 64}
		for _, edit := range edits {
			edit(i, s)
		}
	}
	return c
}

// inBursts: nothing comes in half of the samples.
func inBursts(i int, s *model.Sample) {
	if i%2 == 1 {
		s.Conns[0].BytesReceived -= (s.Conns[0].BytesReceived - 64<<20) / int64(i)
	}
}

// requests of the client itself take this long.
func requests(rtt time.Duration) func(int, *model.Sample) {
	return func(i int, s *model.Sample) { asking(rtt)(i, &s.Conns[0]) }
}

func gaps(i int, s *model.Sample) { late(30)(i, &s.Conns[0]) }

// countedCalls counts the calls: of ten samples five find eight under way, and five come
// in a pause, in which so many stay open.
func countedCalls(open int64) func(int, *model.Sample) {
	return func(i int, s *model.Sample) {
		cycle, at := int64(i/10), int64(i%10)
		s.NFS.Receives = 1 + cycle*200 + min(at, 5)*40
		s.NFS.Sends = s.NFS.Receives + 8
		if at >= 5 {
			s.NFS.Sends = s.NFS.Receives + open
		}
	}
}

// TestStopsAsking: in the pauses of a reader that is stopped no call is under way, in
// those of a server that stalls some are. Their mean is the same.
func TestStopsAsking(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		open int64
		want model.LimiterID
	}{
		{"a server that stalls", 8, model.ServerTime},
		{"a reader that is stopped", 2, model.ApplicationSink},
	} {
		c := mounted(20, 0, 300*ms, 300*ms, inBursts, countedCalls(tc.open))
		v := Judge(c)
		if v.Limiter != tc.want || v.Confidence < 0.5 || v.Confidence > 0.7 {
			t.Errorf("%s: got %s (%.2f): %s", tc.name, v.Limiter, v.Confidence, v.Line)
		}
		checkVerdict(t, c, v)
	}
}

// TestLossesBesideASlowServer: what a client alone sees of losses does not rule out its
// server.
func TestLossesBesideASlowServer(t *testing.T) {
	v := Judge(mounted(10, 0, 400*time.Millisecond, 400*time.Millisecond, gaps))
	if v.Confidence >= 0.5 || !slices.ContainsFunc(v.Alternatives, func(a model.Alternative) bool { return a.Limiter == model.ServerTime }) {
		t.Errorf("%s (%.2f), %v", v.Limiter, v.Confidence, v.Alternatives)
	}
}

// TestLossesBesideFewSlots: one call is under way while others wait for a slot. Losses make it a
// little longer, and are not what holds the client back.
func TestLossesBesideFewSlots(t *testing.T) {
	const ms = time.Millisecond
	on := func(queue, rtt time.Duration) Case {
		return Watched(mounted(16, queue, rtt, queue+rtt, gaps).Receiver, model.Known(bitRate(5e7)))
	}
	c := on(300*ms, 65*ms)
	v := Judge(c)
	second := slices.ContainsFunc(v.Alternatives, func(a model.Alternative) bool { return a.Limiter == model.PathLoss })
	if v.Limiter != model.NFSConcurrency || v.Confidence >= 0.5 || !second {
		t.Errorf("slots are few: %s (%.2f), %v: %s", v.Limiter, v.Confidence, v.Alternatives, v.Line)
	}
	checkVerdict(t, c, v)
	for _, queue := range []time.Duration{0, 300 * ms} {
		v := Judge(on(queue, 120*ms))
		other := slices.ContainsFunc(v.Alternatives, func(a model.Alternative) bool { return a.Limiter == model.NFSConcurrency })
		if v.Limiter != model.PathLoss || other != (queue > 0) {
			t.Errorf("losses take most of a call, which waits %s for a slot: %s (%.2f), %v: %s", queue, v.Limiter, v.Confidence, v.Alternatives, v.Line)
		}
	}
	if v := Judge(on(0, 65*ms)); v.Limiter != model.PathLoss {
		t.Errorf("nobody waits for a slot: %s (%.2f): %s", v.Limiter, v.Confidence, v.Line)
	}
}

// TestWritesThatWaitForTheSocket: a call that carries data also waits, before it is sent, for room in
// the socket, which a lossy path keeps full. That makes the slots no fewer.
func TestWritesThatWaitForTheSocket(t *testing.T) {
	const ms = time.Millisecond
	k := knobs{rate: 16 * readSize * 8, rtt: 12 * ms, minRTT: 10 * ms, retrans: 0.002}
	c := Watched(k.build().Sender, model.Known(bitRate(5e7)))
	for i := range c.Sender.Samples {
		n := time.Duration(16 * i / 10)
		op := model.NFSOp{Ops: int64(n), BytesSent: int64(n) * readSize, BytesRecv: int64(n) * 200, Queue: n * 300 * ms, RTT: n * 65 * ms, Execute: n * 365 * ms}
		c.Sender.Samples[i].NFS = &model.NFSCount{Mount: "/mnt/nas", Ops: map[string]model.NFSOp{"WRITE": op}, MaxSlots: 64}
	}
	if v := Judge(c); v.Limiter != model.PathLoss {
		t.Errorf("%s (%.2f), %v: %s", v.Limiter, v.Confidence, v.Alternatives, v.Line)
	}
}

func TestNFS(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		c    Case
		want model.LimiterID
		most float64
	}{
		{"one call at a time, each a round trip", mounted(60, 0, 13*ms, 13*ms), model.NFSConcurrency, 0.7},
		{"calls wait for a slot", mounted(100, 30*ms, 13*ms, 44*ms), model.NFSConcurrency, 0.7},
		{"the server takes its time", mounted(20, 0, 300*ms, 300*ms, inBursts), model.ServerTime, 0.7},
		{"one call at a time takes long", mounted(20, 0, 50*ms, 50*ms), model.ServerTime, 0.45},
		{"many calls take long at one rate", mounted(20, 0, 300*ms, 300*ms, requests(10*ms)), model.Undetermined, 0.3},
		{"many calls queue in a link", mounted(100, 0, 60*ms, 60*ms, requests(30*ms)), model.LinkRate, 0.65},
		{"one call cannot queue behind itself", mounted(20, 0, 50*ms, 50*ms, requests(45*ms)), model.ServerTime, 0.45},
		{"calls take long because of losses", mounted(10, 0, 400*ms, 400*ms, gaps), model.PathLoss, 0.45},
		{"the application asks for little", mounted(20, 0, 12*ms, 12*ms, inBursts), model.ApplicationSink, 0.7},
		{"too few calls", mounted(1, 0, 50*ms, 50*ms), model.Undetermined, 0.3},
		{"the link is full", mounted(440, 0, 50*ms, 50*ms), model.None, 1},
	} {
		v := Judge(tc.c)
		if v.Limiter != tc.want || v.Confidence > tc.most {
			t.Errorf("%s: got %s (%.2f): %s", tc.name, v.Limiter, v.Confidence, v.Line)
		}
		if strings.Contains(v.Line, "e+") {
			t.Errorf("%s: %s", tc.name, v.Line)
		}
		if v.Limiter == model.NFSConcurrency && (v.Host != "server1" || v.Where != model.AtReceiver) {
			t.Errorf("%s: the client reads, yet the limiter is at %s (%s)", tc.name, v.Where, v.Host)
		}
		checkVerdict(t, tc.c, v)
	}
}

// writing makes an NFS client that writes 1 MiB calls; idle: the connection
// has nothing to send in that many of ten samples.
func writing(perSecond int64, rtt time.Duration, idle int) Case {
	c := Watched(knobs{rate: float64(perSecond * 8 << 20), rtt: 10 * time.Millisecond, notsent: -1, appLtd: true, sendQ: 1}.build().Sender, model.Known(bitRate(1e9)))
	for i := range c.Sender.Samples {
		s := &c.Sender.Samples[i]
		n := perSecond * int64(i) / 10
		op := model.NFSOp{Ops: n, BytesSent: n << 20, BytesRecv: n * 100, RTT: rtt * time.Duration(n), Execute: rtt * time.Duration(n)}
		s.NFS = &model.NFSCount{Mount: "/mnt/nas", Ops: map[string]model.NFSOp{"WRITE": op}, MaxSlots: 64}
		if i%10 < idle {
			s.Conns[0].Unacked = 0
		}
	}
	return c
}

func TestNFSWrite(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    Case
		want model.LimiterID
	}{
		{"the server holds what it was given", writing(20, 300*time.Millisecond, 6), model.ServerTime},
		{"the application writes little", writing(20, 20*time.Millisecond, 6), model.ApplicationSource},
	} {
		v := Judge(tc.c)
		if v.Limiter != tc.want || v.Confidence > nfsOneEnd {
			t.Errorf("%s: got %s (%.2f): %s", tc.name, v.Limiter, v.Confidence, v.Line)
		}
		checkVerdict(t, tc.c, v)
	}
}

// A reader that is done before the watching ends asks for nothing since then: that
// makes it no slow reader.
func TestATransferThatEndsEarlyIsNoSlowReader(t *testing.T) {
	const ms, done = time.Millisecond, 12
	c := mounted(60, 0, 13*ms, 13*ms)
	for i := range c.Receiver.Samples {
		if i > done {
			s := &c.Receiver.Samples[i]
			s.Conns[0].BytesReceived, s.NFS = c.Receiver.Samples[done].Conns[0].BytesReceived, c.Receiver.Samples[done].NFS
		}
	}
	if v := Judge(c); v.Limiter != model.NFSConcurrency {
		t.Errorf("%s", v.Line)
	}
}
