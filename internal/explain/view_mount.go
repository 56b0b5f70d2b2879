package explain

import (
	"time"

	"linerate/internal/model"
)

// nfsView is the busiest operation of the watched mount, share or disk, as means
// per call.
type nfsView struct {
	kind             words
	op               string
	calls            float64
	size             float64 // bytes a call carries
	queue, rtt, life float64 // seconds: before sending, sent to answered, all
	inflight         float64 // calls of this operation sent and not answered, on average
	asked            float64 // calls of any operation under way, waiting ones included
	slots            int64
	n                int
	// Shares of the intervals between samples: in which as many calls as usual were under
	// way and none was answered, and in which hardly any was and none was made. Unknown
	// where the calls under way were not counted.
	waits, unasked float64
}

// mountView is a mount with what its connections show.
type mountView struct {
	nfsView
	end    *End
	window float64 // what the client advertises on all its connections, bytes; unknown when it sends
	net    float64 // minimum network round trip in seconds, 0 unknown
	wire   float64 // a call's data at the ceiling, seconds; 0 unknown
	silent float64 // share of samples in which nothing moves
	spread float64 // of the receiving rate, unknown for a sender
	dry    float64 // share of the samples in which the sender has nothing waiting; unknown unless seen
	steady float64 // spread of the rate as the sender sees it; unknown unless seen
	resent float64 // share of the bytes that were sent again; unknown unless seen
	used   float64 // goodput over the ceiling; unknown without one
	// pauses of the path or of the server, and those of them that ended with segments out of order; of
	// the latter 0 says nothing where tellsOrder is false.
	pauses, brokenOff float64
	tellsOrder        bool
}

// viewMount is the mount of the end that has one, nil when none was used.
func viewMount(v *views) *mountView {
	for _, e := range []*End{v.Sender, v.Receiver} {
		if e == nil {
			continue
		}
		seen := whileActive(e.Samples, v.scenes)
		n := viewNFS(seen)
		if n == nil {
			n = viewRequests(seen)
		}
		if n == nil {
			continue
		}
		m := &mountView{nfsView: *n, end: e, used: unknown(), dry: unknown(), steady: unknown(), resent: unknown()}
		if r := v.link.Rate; r != nil && *r > 0 {
			m.wire = n.size * 8 / float64(*r)
			m.used = v.goodput / float64(*r)
		}
		m.connections(v.scenes)
		m.countPauses(v.scenes)
		return m
	}
	return nil
}

// whileActive leaves out the samples before the first flow and after the last, but for
// one at either side: a transfer that ended while it was watched makes no more calls,
// and must not be taken for a slow application.
func whileActive(all []model.Sample, scenes []*scene) []model.Sample {
	if len(scenes) == 0 {
		return all
	}
	from, to := scenes[0].span.to-scenes[0].span.whole, scenes[0].span.to
	for _, s := range scenes[1:] {
		from, to = min(from, s.span.to-s.span.whole), max(to, s.span.to)
	}
	first, last := 0, len(all)
	for first+1 < len(all) && all[first+1].At < from {
		first++
	}
	for last-1 > first && all[last-2].At > to {
		last--
	}
	return all[first:last]
}

// connections takes from each connection the figure that speaks least against the server.
func (m *mountView) connections(scenes []*scene) {
	var net time.Duration
	m.silent, m.spread = unknown(), unknown()
	for _, s := range scenes {
		net = lower(net, s.minRTT)
		if s.snd != nil {
			m.sender(s.snd)
		}
		silent := unknown()
		switch {
		case s.rcv != nil:
			silent = s.rcv.silent
			m.window += s.rcv.window
			m.tellsOrder = m.tellsOrder || has(s.rcv.last, infoOOO)
			if !(s.rcv.spread >= m.spread) {
				m.spread = s.rcv.spread
			}
		case s.snd != nil:
			silent = s.snd.silent
		}
		if !(silent >= m.silent) {
			m.silent = silent
		}
	}
	m.net = net.Seconds()
}

// sender does the same with the figures of a sender.
func (m *mountView) sender(v *sndView) {
	if !(v.dry >= m.dry) {
		m.dry = v.dry
	}
	if !(v.spread >= m.steady) {
		m.steady = v.spread
	}
	if !(v.retrans <= m.resent) {
		m.resent = v.retrans
	}
}

func viewNFS(all []model.Sample) *nfsView {
	first, last, wall, n := counted(all, func(s model.Sample) *model.NFSCount { return s.NFS })
	if !(wall > 0) {
		return nil
	}
	var best *nfsView
	asked := 0.0
	for _, op := range sortedKeys(last.Ops) {
		asked += max(0, (last.Ops[op].Execute-first.Ops[op].Execute).Seconds()) / wall
		if op != "READ" && op != "WRITE" {
			continue
		}
		v := nfsBetween(op, first.Ops[op], last.Ops[op], wall)
		if v != nil && (best == nil || v.calls*v.size > best.calls*best.size) {
			v.slots, v.n = last.MaxSlots, n
			best = v
		}
	}
	if best != nil {
		best.asked = asked
		best.waits, best.unasked = pending(all)
	}
	return best
}

const (
	// openLeast calls have to be under way at a busy time before a pause can be told by how
	// many are under way in it. In the pause of a client that asks for nothing at most
	// fewOpen of those are (a call that was given up counts as under way for good), in that of
	// a server manyOpen at least.
	openLeast = 4
	fewOpen   = 0.35
	manyOpen  = 0.5
)

// pending reads from the calls sent and those answered in how many of the intervals
// between samples the client waited, and in how many it asked for nothing. A mean of
// calls under way does not tell: it may be many at a time, and none half of the time.
func pending(all []model.Sample) (waits, unasked float64) {
	var counts []*model.NFSCount
	var open []float64
	for _, s := range all {
		if s.NFS != nil && s.NFS.Receives > 0 {
			counts, open = append(counts, s.NFS), append(open, float64(s.NFS.Sends-s.NFS.Receives))
		}
	}
	busy := quantile(open, 0.9)
	if len(counts) < fewSamples || !(busy >= openLeast) {
		return unknown(), unknown()
	}
	for i := 1; i < len(counts); i++ {
		if counts[i].Receives != counts[i-1].Receives {
			continue
		}
		switch {
		case open[i] <= fewOpen*busy && counts[i].Sends == counts[i-1].Sends:
			unasked++
		case min(open[i-1], open[i]) >= manyOpen*busy:
			waits++
		}
	}
	n := float64(len(counts) - 1)
	return waits / n, unasked / n
}

// nfsBetween takes the means of one operation; nil when it was hardly used or
// its counters went backwards (mounted anew).
func nfsBetween(op string, a, b model.NFSOp, wall float64) *nfsView {
	calls := float64(b.Ops - a.Ops)
	mean := func(x, y time.Duration) float64 { return (y - x).Seconds() / calls }
	v := &nfsView{kind: nfsWords(), op: op, calls: calls, queue: mean(a.Queue, b.Queue), rtt: mean(a.RTT, b.RTT), life: mean(a.Execute, b.Execute)}
	v.size = float64(b.BytesSent-a.BytesSent+b.BytesRecv-a.BytesRecv) / calls
	v.inflight = (b.RTT - a.RTT).Seconds() / wall
	if calls < nfsOps || v.queue < 0 || v.rtt <= 0 || v.life <= 0 || v.size <= 0 {
		return nil
	}
	return v
}

// counted is the first and the last state of a counter, the seconds between them, and
// how many samples have it. The time is 0 where fewer than two have.
func counted[T any](all []model.Sample, of func(model.Sample) *T) (first, last *T, wall float64, n int) {
	var from, to time.Duration
	for _, s := range all {
		x := of(s)
		if x == nil {
			continue
		}
		if n == 0 {
			first, from = x, s.At
		}
		last, to = x, s.At
		n++
	}
	return first, last, (to - from).Seconds(), n
}
