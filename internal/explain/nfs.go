package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
)

const (
	// nfsOps: fewer calls than this carry no mean worth judging.
	nfsOps = 6
	// asksLittle: with fewer calls of any kind under way on average, the
	// client itself leaves the mount idle.
	asksLittle = 0.7
	// severalCalls: with fewer under way, an answer finds the path empty and
	// what its request waits for is not a queue.
	severalCalls = 1.5
	// slotWait: share of a call's life spent before it is sent.
	slotWait = 0.30
	// serverShare: share of a call's life that neither the round trip nor
	// the wire explains.
	serverShare = 0.50
	// netShare: share of a call's time after sending that they do explain.
	netShare = 0.60
	// allNet: share from which nothing else is left to explain it.
	allNet = 0.90
	// turnShare of a call's time is the round trip at least, and unusedShare of
	// the time that the link is not used, where calls go out in turns.
	turnShare   = 0.20
	unusedShare = 0.50
	// seldomDry: a path that holds back the server always finds something waiting
	// to be sent there; below this share of the samples without is noise.
	seldomDry = 0.10
	// inTurnsCap is the most confidence in that, since a server that takes as
	// long as a round trip looks the same.
	inTurnsCap = 0.6
	// serverSilent: share of the samples in which nothing moves although
	// calls are under way.
	serverSilent = 0.20
	// nfsOneEnd is the most confidence in a limiter of a mount: the server
	// is not seen.
	nfsOneEnd = 0.7
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
}

// judgeNFS says why an NFS client leaves its connections idle. By Little's law
// a call's time is calls under way × size / rate, whatever holds the rate: a
// long time proves nothing, so a verdict v on the connections that names a
// limiter of window, loss or link stays, and the server is blamed only when
// nothing moves while calls are under way.
func judgeNFS(c Case, v model.Verdict, ce CeilingResult, scenes []*scene) *model.Verdict {
	switch v.Limiter {
	case model.None, model.Outage, model.MTUBlackhole, model.PacketCost:
		return nil
	}
	m := viewMount(c, ce, scenes)
	if m == nil {
		return nil
	}
	server := viewServer(c, m)
	if (v.Limiter == model.ReceiverCPU || v.Limiter == model.SenderCPU) && !server.lacksCPU(v.Host) {
		return nil
	}
	var f *finding
	switch {
	case m.asked < asksLittle:
		f = m.littleAsked()
	case server == nil && (m.oneByOne() || m.inTurns()):
		f = m.roundTrips()
	case v.Limiter == model.ReceiverWindow && m.fitsWindow():
		f = m.weigh(server, float64(v.Measured))
	case m.busyServer(server, v.Limiter):
		if f = m.weigh(server, float64(v.Measured)); f != nil {
			f.cap = min(f.cap, inTurnsCap)
			f.or(v.Limiter, "read the same from the server's memory while its cores are free: if the rate stays, it is the path's")
		}
	case m.explains(v.Limiter):
		return m.support(v, server != nil)
	default:
		f = m.weigh(server, float64(v.Measured))
	}
	if f == nil {
		return nil
	}
	out := model.Verdict{Limiter: f.id, Where: m.where(f.id), Host: f.host, Evidence: f.evidence, Alternatives: f.alts,
		Ceiling: v.Ceiling, ShareOfCeiling: v.ShareOfCeiling, Measured: v.Measured, CouldNotSee: v.CouldNotSee, Notes: f.notes}
	out.Confidence = math.Round(min(0.6+0.35*f.margin, f.cap)*100) / 100
	if f.id == model.Undetermined {
		out.Fix = model.Fix{Kind: model.FixNone, Advice: restAdvice(f.id)}
		return &out
	}
	out.Fix = operator(f.host, cmp.Or(f.advice, m.advice(f.id)))
	if f.cause == causeThreads {
		out.Fix = server.threadsFix(f.advice)
	}
	out.ExpectedGain = nfsGain(v)
	return &out
}

// weigh is the finding with the server in view, or without.
func (m *mountView) weigh(server *serverView, goodput float64) *finding {
	if server != nil {
		return m.judgeSeen(server, goodput)
	}
	return m.judge()
}

// where is the limiter's place: a client that reads is the receiving end.
func (m *mountView) where(id model.LimiterID) model.Where {
	if id == m.kind.concurrency && m.op == "READ" {
		return model.AtReceiver
	}
	return limiter(id).Where
}

// explains tells whether the connections' limiter stands beside the calls: a
// queue seen by a reader with one call at a time is the server's time, and no
// path holds back a sender that has nothing waiting to be sent.
func (m *mountView) explains(id model.LimiterID) bool {
	switch id {
	case model.ApplicationSource, model.Undetermined, model.StartUp:
		return false
	case model.LinkRate, model.PathLoss, model.PathQueue, model.Reordering, model.CongestionControl:
		if m.dry >= seldomDry {
			return false
		}
		return id != model.LinkRate || m.op != "READ" || m.inflight >= severalCalls
	case model.ReceiverCPU, model.SenderCPU: // of the server's service
		return false
	}
	return true
}

// busyServer: no core of the server has time left for what it serves, and what
// the connections show of the path is what such a server does to them: a round
// trip that waits for its CPU, and a few losses. A slow link's rate stays put.
func (m *mountView) busyServer(v *serverView, id model.LimiterID) bool {
	switch id {
	case model.LinkRate, model.PathLoss, model.PathQueue, model.CongestionControl:
		return v != nil && v.cpu >= noTimeLeft && v.starved() >= wantsAll && m.steady > linkSteady && m.resent < fewResent
	}
	return false
}

// support adds what the calls say to the verdict on the connections.
func (m *mountView) support(v model.Verdict, bothEnds bool) *model.Verdict {
	f := &finding{}
	m.callEvidence(f)
	v.Evidence = append(v.Evidence, f.evidence...)
	if !bothEnds {
		v.Confidence = min(v.Confidence, nfsOneEnd)
	}
	return &v
}

// oneByOne: each call takes what its data takes on an idle path, and the next one
// waits for it. What is lost, or queues, would make calls take longer.
func (m *mountView) oneByOne() bool {
	return m.inflight < severalCalls && m.net > 0 && m.wire > 0 && m.net+m.wire >= allNet*m.rtt
}

// inTurns: the path carries what is under way and then waits for the next to be
// asked for: the round trip fills the time in which the link is not used, or
// calls wait for a slot longer than they take. A server, or a slower link, that is
// behind takes much longer than a round trip.
func (m *mountView) inTurns() bool {
	if !(m.net >= turnShare*m.rtt) {
		return false
	}
	return m.net >= unusedShare*(1-m.used)*m.rtt || m.queue >= serverShare*m.life
}

// fitsWindow: all that was asked for and has not come yet fits into the window
// with room to spare, so that the window holds nothing back.
func (m *mountView) fitsWindow() bool {
	return m.op == "READ" && m.inflight*m.size < windowFull*m.window
}

func (m *mountView) callEvidence(f *finding) {
	f.say(m.end.Host, m.kind.metric+"_inflight", m.inflight, "calls", m.n, "%.1f %s %s of %s are under way on average", m.inflight, m.op, m.kind.calls, size(m.size))
	f.say(m.end.Host, m.kind.metric+"_call_ms", m.rtt*1e3, "ms", m.n, "%.0f %s %s, %s each after sending", m.calls, m.op, m.kind.calls, seconds(m.rtt))
}

// littleAsked: most of the time the client has no call under way.
func (m *mountView) littleAsked() *finding {
	f := &finding{id: model.ApplicationSink, host: m.end.Host, margin: over(m.asked, asksLittle, 0.3), cap: nfsOneEnd}
	does, short, task := "reads", model.ReceiverCPU, "the reader's"
	if m.op == "WRITE" {
		f.id, does, short, task = model.ApplicationSource, "writes", model.SenderCPU, "the writer's"
	}
	f.say(m.end.Host, m.kind.metric+"_asked", m.asked, "calls", m.n, "the application %s slowly: only %.1f %s are under way on average, so most of the time nothing is asked of the server", does, m.asked, m.kind.calls)
	m.callEvidence(f)
	f.or(m.kind.concurrency, "copy several files at once: if the rate rises, each one leaves gaps of its own")
	f.or(short, "watch as root: "+task+" CPU time and run delay tell")
	return f
}

// judge weighs where a call's life goes.
func (m *mountView) judge() *finding {
	server := m.rtt - m.net - m.wire
	switch {
	case (m.net > m.wire || m.inflight < severalCalls) && m.net+m.wire >= netShare*m.rtt:
		return m.roundTrips()
	case server < serverShare*m.life:
		return nil
	case m.inflight >= 1 && m.silent >= serverSilent:
		return m.serverSilent(server)
	case m.inflight >= severalCalls && m.spread <= oneRate:
		return m.unexplained()
	}
	return m.serverLikely(server)
}

// roundTrips: each call is a network round trip, and few are under way.
func (m *mountView) roundTrips() *finding {
	f := &finding{id: m.kind.concurrency, host: m.end.Host, cap: nfsOneEnd, margin: over((m.net+m.wire)/m.rtt, netShare, 0.95)}
	if m.queue >= slotWait*m.life {
		f.say(m.end.Host, m.kind.metric+"_queue_share", ratio(m.queue, m.life), "ratio", m.n, "%s %s wait %s of their life for a slot (%.1f under way, %d slots), then each is a round trip of %s", m.op, m.kind.calls, pct(m.queue/m.life), m.inflight, m.slots, seconds(m.net))
	}
	f.say(m.end.Host, m.kind.metric+"_inflight", m.inflight, "calls", m.n, "only %.1f %s %s of %s are under way, each a round trip of %s", m.inflight, m.op, m.kind.calls, size(m.size), seconds(m.net))
	if m.net+m.wire < netShare*m.rtt {
		f.cap = inTurnsCap
		f.say(m.end.Host, "link_used_share", m.used, "ratio", m.n, "the link is used %s of the time, and the round trip is %s of a %s", pct(m.used), pct(m.net/m.rtt), m.op)
	}
	f.say(m.end.Host, m.kind.metric+"_call_ms", m.rtt*1e3, "ms", m.n, "%.0f %s %s, %s each after sending", m.calls, m.op, m.kind.calls, seconds(m.rtt))
	f.or(model.ApplicationSource, "copy with several files or readers at once: if the rate rises, the application asked for too little")
	f.or(model.ServerTime, m.kind.moreProbe+": if the rate stays, the server is the limit")
	return f
}

// serverSilent: calls are under way and yet nothing moves.
func (m *mountView) serverSilent(server float64) *finding {
	f := &finding{id: model.ServerTime, cap: nfsOneEnd, margin: over(m.silent, serverSilent, 0.5)}
	if m.net == 0 {
		f.cap = 0.5
	}
	f.say(m.end.Host, "silent_share", m.silent, "ratio", m.n, "nothing moves in %s of the samples although %.1f %s calls are under way", pct(m.silent), m.inflight, m.op)
	m.serverEvidence(f, server)
	return f
}

// serverLikely is what remains when neither a queue, losses nor a window
// explain a call's time; the sending end may still.
func (m *mountView) serverLikely(server float64) *finding {
	f := &finding{id: model.ServerTime, cap: 0.45}
	m.serverEvidence(f, server)
	if m.op == "READ" {
		f.or(model.LinkRate, "copy a file that the server has in memory: if the rate stays, it is not the server's disk")
	}
	f.or(m.kind.concurrency, "copy several files at once: if the rate rises, it is not the link")
	return f
}

func (m *mountView) serverEvidence(f *finding, server float64) {
	f.say(m.end.Host, m.kind.metric+"_server_share", ratio(server, m.life), "ratio", m.n, "a %s takes %s, of which network and wire explain %s", m.op, seconds(m.rtt), seconds(m.net+m.wire))
	m.callEvidence(f)
	if m.op == "READ" {
		f.or(model.PathLoss, "log in at the server: its tcp_info tells whether its sending is held back")
	}
	f.or(model.SenderCPU, "log in at the server: its CPUs and the threads of its file service tell")
}

// unexplained: the path is in use all the time at one rate and nothing seen
// from here says by what.
func (m *mountView) unexplained() *finding {
	f := &finding{id: model.Undetermined, cap: 0.3}
	f.say(m.end.Host, "rate_spread", m.spread, "ratio", m.n, "data comes all the time at one rate, with no queue, loss or full window to be seen from here")
	m.callEvidence(f)
	f.or(m.kind.concurrency, "copy several files at once: if the rate rises, more has to be under way")
	f.or(model.LinkRate, "start a second copy from another server: if the sum stays the same, the path carries no more")
	f.or(model.ServerTime, "copy a file that the server has in memory: if the rate rises, its disk is the limit")
	f.or(model.SendBuffer, "log in at the server: its tcp_info tells")
	return f
}

func (m *mountView) advice(id model.LimiterID) string {
	switch id {
	case model.ServerTime:
		return "look at the server: its disk, its load, its number of threads"
	case model.ApplicationSink:
		return "make the application read faster, or read ahead: it leaves the mount idle"
	case model.ApplicationSource:
		return "make the application write faster: it leaves the mount idle"
	}
	return moreAdvice(m.kind, m.op == "READ")
}

// moreAdvice is what puts more under way.
func moreAdvice(w words, reads bool) string {
	more := slices.Clone(w.more)
	if reads {
		more = append([]string{"more read-ahead"}, more...)
	}
	return "have more data under way: " + strings.Join(more[:len(more)-1], ", ") + ", or " + more[len(more)-1]
}

func nfsGain(v model.Verdict) *model.Gain {
	if v.Ceiling == nil || *v.Ceiling <= v.Measured {
		return nil
	}
	return &model.Gain{Low: v.Measured, High: *v.Ceiling, Why: "the ceiling of the link; how near it comes depends on what is done"}
}

// viewMount is the mount of the end that has one, nil when none was used.
func viewMount(c Case, ce CeilingResult, scenes []*scene) *mountView {
	for _, e := range []*End{c.Sender, c.Receiver} {
		if e == nil {
			continue
		}
		seen := whileActive(e.Samples, scenes)
		n := viewNFS(seen)
		if n == nil {
			n = viewRequests(seen)
		}
		if n == nil {
			continue
		}
		m := &mountView{nfsView: *n, end: e, used: unknown(), dry: unknown(), steady: unknown(), resent: unknown()}
		if ce.Rate != nil && *ce.Rate > 0 {
			m.wire = n.size * 8 / float64(*ce.Rate)
			m.used = goodput(c, scenes) / float64(*ce.Rate)
		}
		m.connections(scenes)
		return m
	}
	return nil
}

// whileActive leaves out the samples before the first and after the last of the
// flows: a transfer that ended while it was watched asks for nothing any more, and
// is no slow application for that. A sample at either side stays.
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

// connections takes from each what is least in favour of the server.
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

// sender takes the same from what a sender sees.
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
	var first, last *model.NFSCount
	var from, to time.Duration
	n := 0
	for _, s := range all {
		if s.NFS == nil {
			continue
		}
		if first == nil {
			first, from = s.NFS, s.At
		}
		last, to = s.NFS, s.At
		n++
	}
	if n < 2 || to <= from {
		return nil
	}
	var best *nfsView
	asked := 0.0
	for _, op := range sortedKeys(last.Ops) {
		asked += max(0, (last.Ops[op].Execute-first.Ops[op].Execute).Seconds()) / (to - from).Seconds()
		if op != "READ" && op != "WRITE" {
			continue
		}
		v := nfsBetween(op, first.Ops[op], last.Ops[op], (to - from).Seconds())
		if v != nil && (best == nil || v.calls*v.size > best.calls*best.size) {
			v.slots, v.n = last.MaxSlots, n
			best = v
		}
	}
	if best != nil {
		best.asked = asked
	}
	return best
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
