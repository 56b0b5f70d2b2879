package explain

import (
	"cmp"

	"linerate/internal/model"
	calc "linerate/internal/size"
)

const (
	sndbufShare = 0.10
	// overBufferCap is the most confidence in a fixed send buffer where more is queued than it allows.
	overBufferCap = 0.65
	// taskUnseenCap is the most confidence in a slow program whose tasks are not seen.
	taskUnseenCap = 0.6
	// dryShare and limitedShare: the socket has nothing to send.
	dryShare     = 0.50
	limitedShare = 0.90
	// bufferFull: lower quartile of send queue over send buffer.
	bufferFull  = 0.60
	drainedMost = 0.10
	pacedShare  = 0.85
	// diskWait: a program that reads from a disk as fast as it can waits for it most of
	// the time; a third is more than reading now and then.
	diskWait = 0.33
	// answersPerSecond make it an exchange of requests and answers, and inTurn round trips
	// from one answer to the next make it one at a time. heldShare of the samples with a
	// part of a segment held back is more than the end of a write now and then.
	answersPerSecond = 3
	inTurn           = 0.8
	heldShare        = 0.2
	// A qdisc that holds back or drops less often than this is not limiting.
	overlimitsPerSecond = 10
	qdiscDrops          = 10
	// A qdisc that limits has packets waiting in it nearly always. One that only holds bursts back,
	// while the rate stays below its own, is empty most of the time (measured: 0 to 7%).
	qdiscStands = 0.25
)

// starvedOfData: the socket has little to send and the congestion window has
// room. A full send buffer then is the limit; otherwise the application is.
func (s *scene) starvedOfData() bool {
	return s.nothingWaits() && s.snd.inflight < 0.9
}

// nothingWaits: all that was written is on its way. A congestion window that is
// not used does not grow (RFC 7661), so that it may look full all the same.
func (s *scene) nothingWaits() bool {
	v := s.snd
	return v != nil && (v.dry >= dryShare || v.appLimited >= limitedShare)
}

func (s *scene) bufferIsFull() bool {
	return s.snd.fill >= bufferFull && s.snd.drained < drainedMost
}

// seeSendBuffer: data in flight (which stays in the buffer until it is
// acknowledged) fills the send buffer. The kernel's sndbuf_limited stays near
// zero under loss-based control; there the full queue with room in the
// congestion window tells.
func seeSendBuffer(s *scene) *finding {
	v := s.snd
	if v == nil || s.behindQueue(v.takesIn()) || s.carries(calc.SendShare*v.takesIn()) {
		return nil
	}
	quiet := s.nothingWaits() && s.bufferIsFull()
	if !(v.sndbuf >= sndbufShare) && !quiet {
		return nil
	}
	f := &finding{id: model.SendBuffer, host: s.c.Sender.host(), cause: sendCause(s)}
	f.margin = max(over(v.sndbuf, sndbufShare, 0.3), over(v.fillMid, bufferFull, 0.85))
	if v.sndbuf >= sndbufShare {
		f.say(f.host, "sndbuf_limited_share", v.sndbuf, "ratio", v.n, "the sender waits for room in its send buffer %s of the time", pct(v.sndbuf))
	}
	f.say(f.host, "send_queue_fill", v.fillMid, "ratio", v.n, "the send queue fills %s of the send buffer of %s", pct(v.fillMid), size(float64(v.last.SndBuf)))
	f.say(f.host, "inflight_over_cwnd", v.inflight, "ratio", v.n, "data in flight is %s of the congestion window", pct(v.inflight))
	if s.overSendBuffer() {
		f.cap = overBufferCap
		f.say(f.host, "queued_over_sndbuf", v.overBuffer, "ratio", v.n, "%.3g times as much is queued as the buffer allows, and the buffer keeps its size", v.overBuffer)
		f.or(model.TCPMemory, fixedBufferProbe)
	}
	return f
}

// fixedBufferProbe tells who fixed a send buffer.
const fixedBufferProbe = "look whether the program sets SO_SNDBUF (strace -e trace=setsockopt): if it does not, a memory limit of its control group, or tcp_mem, holds the buffer down"

// sendCause finds who fixed the size of the send buffer.
func sendCause(s *scene) cause {
	switch _, ok := thirdOf(s.c.Sender, wmemSetting); {
	case !ok:
		return causeUnknown
	case s.bufferAtLimit():
		return causeSysctl
	case capped(s.c.Sender, wmemMaxSetting, s.snd.last.SndBuf):
		return causeCapped
	case !pinned(s.flow.snd, s.span, func(c *model.Conn) int64 { return c.SndBuf }):
		return causeOpen
	}
	return causeSocket
}

// seeSlowSource: the socket runs dry, its buffer is not full, its window is
// not used, and the writer does not want for CPU.
func seeSlowSource(s *scene) *finding {
	v := s.snd
	if !s.starvedOfData() || s.bufferIsFull() {
		return nil
	}
	f := &finding{id: model.ApplicationSource, host: s.c.Sender.host()}
	f.margin = max(over(v.dry, dryShare, 0.9), over(v.appLimited, limitedShare, 1)/2)
	f.say(f.host, "notsent_dry_share", v.dry, "ratio", v.n, "the socket has nothing left to send in %s of the samples", pct(v.dry))
	f.say(f.host, "app_limited_share", v.appLimited, "ratio", v.n, "the kernel marks the rate as application-limited in %s of the samples", pct(v.appLimited))
	f.say(f.host, "send_queue_fill", v.fillMid, "ratio", v.n, "the send buffer is %s full", pct(v.fillMid))
	f.taskEvidence(s.sender, "writer")
	f.idleSource(s)
	f.askedFor(s)
	if !(s.sender.run >= 0) {
		f.cap = min(cmp.Or(f.cap, 1), taskUnseenCap)
		f.or(model.SenderCPU, s.c.Sender.seeTasks("the writer"))
	}
	return f
}

// idleSource says what the writer waits for, where that is seen.
func (f *finding) idleSource(s *scene) {
	v := s.snd
	switch {
	case s.sender.disk >= diskWait:
		f.say(f.host, "disk_wait_share", s.sender.disk, "ratio", s.sender.n, "the sending application waits for a disk in %s of the samples", pct(s.sender.disk))
		f.advice = "the sending application waits for its disk: see what that disk is busy with (iostat -x 1), and have the application read ahead or read several pieces at once"
	case v.turns >= answersPerSecond && v.held >= heldShare:
		f.say(f.host, "held_by_nagle_share", v.held, "ratio", v.n, "in %s of the samples less than a segment waits for the acknowledgment of the one before, and answers come %.3g times a second", pct(v.held), v.turns)
		f.advice = "the sending application writes a request in pieces and waits for the answer: Nagle's algorithm holds the last piece until the other end acknowledges, which it delays; write each request in one piece or set TCP_NODELAY, and have several requests under way"
	case v.turns >= answersPerSecond && ratio(1, v.turns) >= inTurn*s.minRTT.Seconds():
		f.say(f.host, "answers_per_second", v.turns, "1/s", v.n, "answers come %.3g times a second, and between them %s are sent: the application waits for each", v.turns, size(v.acked/v.dur.Seconds()/v.turns))
		f.advice = "the sending application waits for an answer before it sends on: have several requests under way, or larger ones"
	}
}

// nfsPort is where a server of NFS listens.
const nfsPort = 2049

// askedFor: the other end, which is not seen, sends too. A server that answers requests has nothing to
// send between them, and looks from here like a program that produces slowly.
func (f *finding) askedFor(s *scene) {
	v := s.snd
	if s.c.Receiver != nil || !(v.turns >= answersPerSecond) {
		return
	}
	f.cap = contradictedCap
	id := model.RequestConcurrency
	if v.last.Local.Port() == nfsPort {
		id = model.NFSConcurrency
	}
	f.say(f.host, "messages_per_second", v.turns, "1/s", v.n, "the other end sends %.3g segments a second: if these are requests, this end sends what they ask for", v.turns)
	f.or(id, "watch the other end: if it asks for more at once and this end still has nothing to send, the program here is slow")
}

// seePacing: the rate is what SO_MAX_PACING_RATE allows.
func seePacing(s *scene) *finding {
	v := s.snd
	if v == nil || !(v.rate >= pacedShare*v.maxPacing) {
		return nil
	}
	f := &finding{id: model.Pacing, host: s.c.Sender.host(), margin: over(v.rate/v.maxPacing, pacedShare, 0.95)}
	f.say(f.host, "rate_over_max_pacing", ratio(v.rate, v.maxPacing), "ratio", v.n, "the rate is %s of the socket's maximum pacing rate of %s", pct(v.rate/v.maxPacing), bits(v.maxPacing))
	return f
}

// seeQdisc: the sender's own queueing discipline holds back or drops.
func seeQdisc(s *scene) *finding {
	h := s.sender
	if s.snd == nil || h == nil {
		return nil
	}
	perSecond := ratio(h.overlimits, s.span.whole.Seconds())
	holds := perSecond >= overlimitsPerSecond && !(h.standing < qdiscStands)
	// The qdisc's drops are counted while it is watched, so older losses do not count either.
	drops := h.qdrops >= max(qdiscDrops, dropShare*s.snd.watched)
	f := &finding{id: model.LocalQdisc, host: s.c.Sender.host()}
	switch {
	case holds:
		f.margin = over(perSecond, overlimitsPerSecond, 200)
		f.say(f.host, "qdisc_overlimits", perSecond, "1/s", h.n, "the sender's own %s qdisc holds packets back %.0f times a second", h.qdisc, perSecond)
		if h.qdrops > 0 {
			f.say(f.host, "qdisc_drops", h.qdrops, "packets", h.n, "it dropped %.0f packets", h.qdrops)
		}
		f.say(f.host, "qdisc_standing", h.standing, "ratio", h.n, "packets wait in it in %s of the samples", pct(h.standing))
	case drops:
		f.say(f.host, "qdisc_drops", h.qdrops, "packets", h.n, "the sender's own %s qdisc dropped %.0f packets", h.qdisc, h.qdrops)
		f.advice = "the queue of the sender's own " + h.qdisc + " qdisc is too short and drops: make it longer (its limit, or txqueuelen of the interface), or use fq"
	default:
		return nil
	}
	if drops {
		f.margin = max(f.margin, over(h.qdrops, qdiscDrops, 200))
	}
	return f
}
