package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

const (
	// nfsOps: the mean of fewer calls than this says nothing.
	nfsOps = 6
	// asksLittle: when fewer calls than this are under way on average, the
	// client leaves the mount idle.
	asksLittle = 0.7
	// severalCalls: when fewer are under way, answers do not queue behind each
	// other on the path.
	severalCalls = 1.5
	// slotWait: share of a call's life spent before it is sent.
	slotWait = 0.30
	// serverShare: share of a call's life that neither the round trip nor
	// the wire explains.
	serverShare = 0.50
	// netShare: share of a call's time after sending that they do explain.
	netShare = 0.60
	// allNet: from this share on, the network explains all of that time.
	allNet = 0.90
	// turnShare and unusedShare: where calls wait for each other, the round trip
	// is at least this share of a call's time, and of the link's unused time.
	turnShare   = 0.20
	unusedShare = 0.50
	// seldomDry: a server that the path holds back always has data waiting to be
	// sent. A share of samples without such data below this is noise.
	seldomDry = 0.10
	// seldomOut: behind a disk that is slower than the path, a server has nothing to send for longer
	// (measured: half of the time and more).
	seldomOut = 0.25
	// inTurnsCap caps the confidence in calls that wait for each other: a server
	// that answers in the time of a round trip looks the same.
	inTurnsCap = 0.6
	// serverSilent: share of the samples in which nothing moves although
	// calls are under way.
	serverSilent = 0.20
	// pausesTell of them tell whether the server pauses or the path: after an interruption the sender's
	// first segments come out of order (RFC 5682 sends new ones), which brokenShare of the pauses show.
	pausesTell  = 2
	brokenShare = 0.5
	// nfsOneEnd caps the confidence in a limiter of a mount whose server is not
	// seen.
	nfsOneEnd = 0.7
)

// judgeCalls says why the client of a mount, share or disk leaves its connections
// idle. By Little's law a call's time is calls under way × size / rate, whatever
// holds the rate: a long time proves nothing. So an elected limiter of window, loss
// or link stays, and the server is blamed only when nothing moves while calls are
// under way.
func (v *views) judgeCalls(elected model.Verdict) model.Verdict {
	f := diagnoseAfter(calls, &scene{c: v, total: v.goodput, elected: &elected})
	if f == nil {
		return v.mount.unexplainedBy(elected)
	}
	if f.keeps {
		elected.Evidence = append(elected.Evidence, f.evidence...)
		elected.Alternatives = append(elected.Alternatives, f.alts...)
		if f.cap > 0 {
			elected.Confidence = min(elected.Confidence, f.cap)
		}
		return elected
	}
	out := model.Verdict{Limiter: f.id, Where: v.mount.where(f.id), Host: f.host, Evidence: f.evidence, Alternatives: f.alts, Notes: f.notes}
	out.Confidence = math.Round(min(0.6+0.35*f.margin, f.cap)*100) / 100
	out.Account = v.mount.account(v, f.id)
	if f.id == model.Undetermined {
		out.Fix = model.Fix{Kind: model.FixNone, Advice: restAdvice(f.id)}
		return out
	}
	out.Fix = operator(f.host, cmp.Or(f.advice, v.mount.advice(f.id)))
	if f.cause == causeThreads {
		out.Fix = v.server.threadsFix(f.advice)
	}
	if now, most := unit.BitRate(v.goodput), v.link.Rate; most != nil && *most > now {
		out.ExpectedGain = &model.Gain{Low: now, High: *most, Why: "the ceiling of the link; how near it comes depends on what is done"}
	}
	return out
}

// unexplainedBy: nothing that was seen of the calls bears the elected limiter out.
func (m *mountView) unexplainedBy(elected model.Verdict) model.Verdict {
	if !claimsNothing(elected.Limiter) {
		elected.Confidence = min(elected.Confidence, contradictedCap)
		elected.Contradictions = append(elected.Contradictions, model.Contradiction{Sign: model.CallsIdle,
			What: fmt.Sprintf("%.1f %s %s are under way on average, and %s does not explain the time that they take", m.inflight, m.op, m.kind.calls, elected.Limiter)})
	}
	return elected
}

// seeBeyondCalls: the elected limiter holds the connections back however many calls
// are made, or it is a lack of CPU in another program than the file service.
func seeBeyondCalls(s *scene) *finding {
	switch s.elected.Limiter {
	case model.None, model.Outage, model.MTUBlackhole, model.PacketCost:
		return &finding{keeps: true}
	case model.ReceiverCPU, model.SenderCPU:
		if !s.c.server.lacksCPU(s.elected.Host) {
			return &finding{keeps: true}
		}
	}
	return nil
}

// waitsInSilence: nothing moves at times although calls are under way then, as far as
// they were counted.
func (m *mountView) waitsInSilence() bool {
	return m.silent >= serverSilent && !(m.waits < serverSilent)
}

// stopsAsking: nothing moves at times because nothing is asked for then.
func (m *mountView) stopsAsking() bool {
	return m.silent >= serverSilent && m.unasked >= serverSilent && m.unasked > m.waits
}

// seeFewCalls: most of the time, or at times, the client has no call under way.
func seeFewCalls(s *scene) *finding {
	m := s.c.mount
	if !(m.asked < asksLittle) && !m.stopsAsking() {
		return nil
	}
	f := &finding{id: model.ApplicationSink, host: m.end.Host, margin: max(over(m.asked, asksLittle, 0.3), over(m.unasked, serverSilent, 0.5)), cap: nfsOneEnd}
	does, short, task := "reads", model.ReceiverCPU, "the reader"
	if m.op == "WRITE" {
		f.id, does, short, task = model.ApplicationSource, "writes", model.SenderCPU, "the writer"
	}
	if m.stopsAsking() {
		f.say(m.end.Host, m.kind.metric+"_unasked_share", m.unasked, "ratio", m.n, "the application %s at times only: in %s of the samples hardly any %s are under way and none are made", does, pct(m.unasked), m.kind.calls)
	} else {
		f.say(m.end.Host, m.kind.metric+"_asked", m.asked, "calls", m.n, "the application %s slowly: only %.1f %s are under way on average, so most of the time nothing is asked of the server", does, m.asked, m.kind.calls)
	}
	m.callEvidence(f)
	f.or(m.kind.concurrency, "copy several files at once: if the rate rises, each one leaves gaps of its own")
	f.or(short, m.end.seeTasks(task))
	return f
}

// seeCallsInTurn: calls wait for each other, as far as the client alone shows.
func seeCallsInTurn(s *scene) *finding {
	m := s.c.mount
	switch {
	case s.c.server != nil:
		return nil
	case m.oneByOne() || m.inTurns():
		return m.roundTrips()
	case m.waitsForSlot() && pathTakes(s.elected.Limiter):
		f := m.roundTrips()
		f.cap = tossUpCap
		f.evidence = append(f.evidence, s.elected.Evidence...)
		f.or(s.elected.Limiter, "give the client more slots and watch again: if the rate stays, the path holds it back")
		return f
	}
	return nil
}

// pathTakes: the limiter makes a call's data come slowly, which most of a call's time rules out where
// round trip and wire explain that.
func pathTakes(id model.LimiterID) bool {
	switch id {
	case model.PathLoss, model.PathQueue, model.Reordering, model.CongestionControl, model.SACKOff:
		return true
	}
	return false
}

// seeRoomForCalls: the window was elected although all outstanding answers fit into it.
func seeRoomForCalls(s *scene) *finding {
	if s.elected.Limiter != model.ReceiverWindow || !s.c.mount.fitsWindow() {
		return nil
	}
	return cmp.Or(seeCallTime(s), &finding{keeps: true})
}

// seeBusyServer: a server without CPU makes its path look slow or lossy.
func seeBusyServer(s *scene) *finding {
	if !s.c.mount.busyServer(s.c.server, s.elected.Limiter) {
		return nil
	}
	f := seeCallTime(s)
	if f == nil {
		return &finding{keeps: true}
	}
	f.cap = min(f.cap, inTurnsCap)
	f.or(s.elected.Limiter, "read the same from the server's memory while its cores are free: if the rate stays, it is the path's")
	return f
}

// seeBesideCalls: the elected limiter explains how the calls fare.
func seeBesideCalls(s *scene) *finding {
	if !s.c.mount.explains(s.elected.Limiter) {
		return nil
	}
	f := &finding{keeps: true}
	s.c.mount.callEvidence(f)
	if s.c.server == nil {
		f.cap = nfsOneEnd
		f.orServer(s)
		if m := s.c.mount; m.queue >= serverShare*m.life {
			f.or(m.kind.concurrency, "give the client more slots and watch again: if the rate rises, it made too few calls")
		}
	}
	return f
}

// orServer: losses that only the client saw may accompany what holds the server back; the rate fits
// them only within a wide range.
func (f *finding) orServer(s *scene) {
	m := s.c.mount
	switch s.elected.Limiter {
	case model.PathLoss, model.PathQueue, model.CongestionControl:
		if m.op == "READ" && !known(m.resent) {
			f.cap = tossUpCap
			f.or(model.ServerTime, "read a file that the server has in memory: if the rate rises, the server's disk is the limit, else log in there: its tcp_info tells")
		}
	}
}

// seeCallTime weighs where a call's time goes, with the server in view or without.
func seeCallTime(s *scene) *finding {
	if s.c.server != nil {
		f := s.c.mount.judgeSeen(s.c.server, s.total)
		f.whileDataWaits(s)
		return f
	}
	return s.c.mount.judge()
}

// whileDataWaits: a server that waits for its disk runs out of data to send. Some thread of many is found
// waiting for it all the time, also where the next data are read while the last ones wait for the path. Of
// a client that writes the socket is its own: that fills up in front of a slow disk, too.
func (f *finding) whileDataWaits(s *scene) {
	m := s.c.mount
	if m.op != "READ" || s.c.server.end != s.c.Sender {
		return
	}
	if f == nil || f.id != model.ServerTime || len(f.evidence) == 0 || f.evidence[0].Metric != waitsForDiskMetric || !(m.dry < seldomOut) {
		return
	}
	f.cap = tossUpCap
	f.say(s.c.server.end.Host, "notsent_dry_share", m.dry, "ratio", m.n, "yet the server's socket has nothing left to send in only %s of the samples", pct(m.dry))
	other := model.PathLoss
	if pathTakes(s.elected.Limiter) || s.elected.Limiter == model.LinkRate {
		other = s.elected.Limiter
	}
	f.or(other, "read a file that the server has in memory: if the rate stays, the path holds it back")
}

// where is the limiter's place: a client that reads is the receiving end.
func (m *mountView) where(id model.LimiterID) model.Where {
	if id == m.kind.concurrency && m.op == "READ" {
		return model.AtReceiver
	}
	return limiter(id).Where
}

// explains tells whether the elected limiter explains how the calls fare. A path
// does not hold back a sender that has no data waiting. And a reader that makes one
// call at a time sees a queue where it only waits for the server.
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

// busyServer: no core of the server has time left for the file service. Such a
// server makes its path look slow: packets wait for its CPU, and a few are lost. A
// slow link differs, because its rate stays constant.
func (m *mountView) busyServer(v *serverView, id model.LimiterID) bool {
	switch id {
	case model.LinkRate, model.PathLoss, model.PathQueue, model.CongestionControl:
		return v != nil && v.cpu >= noTimeLeft && v.starved() >= wantsAll && m.steady > linkSteady && m.resent < fewResent
	}
	return false
}

// oneByOne: each call waits for the one before, and takes as long as its data takes
// on an idle path. Losses and queues would make calls take longer.
func (m *mountView) oneByOne() bool {
	return m.inflight < severalCalls && m.net > 0 && m.wire > 0 && m.net+m.wire >= allNet*m.rtt
}

// waitsForSlot: reads wait for a slot most of their life, hardly more than one is under way, and the
// path accounts for most of the time of that one. What losses add to it is the lesser part. A write
// also waits, before it is sent, for room in the socket, which the path empties.
func (m *mountView) waitsForSlot() bool {
	return m.op == "READ" && m.inflight < severalCalls && m.queue >= serverShare*m.life && m.net > 0 && m.wire > 0 && m.net+m.wire >= netShare*m.rtt
}

// inTurns: the path carries the calls under way and then idles until the client asks
// for more. The round trip then fills the link's unused time, or calls wait longer for
// a slot than for their answer. With a slow server or a slower link in the way, a call
// takes much longer than a round trip.
func (m *mountView) inTurns() bool {
	if !(m.net >= turnShare*m.rtt) {
		return false
	}
	return m.net >= unusedShare*(1-m.used)*m.rtt || m.queue >= serverShare*m.life
}

// fitsWindow: the answers that are still to come fit into the window with room to
// spare, so that the window holds nothing back.
func (m *mountView) fitsWindow() bool {
	return m.op == "READ" && m.inflight*m.size < windowFull*m.window
}

func (m *mountView) callEvidence(f *finding) {
	f.say(m.end.Host, m.kind.metric+"_inflight", m.inflight, "calls", m.n, "%.1f %s %s of %s are under way on average", m.inflight, m.op, m.kind.calls, size(m.size))
	f.say(m.end.Host, m.kind.metric+"_call_ms", m.rtt*1e3, "ms", m.n, "%.0f %s %s, %s each after sending", m.calls, m.op, m.kind.calls, seconds(m.rtt))
}

// judge weighs where a call's life goes.
func (m *mountView) judge() *finding {
	server := m.rtt - m.net - m.wire
	switch {
	case (m.net > m.wire || m.inflight < severalCalls) && m.net+m.wire >= netShare*m.rtt:
		return m.roundTrips()
	case server < serverShare*m.life:
		return nil
	case m.inflight >= 1 && m.waitsInSilence():
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
	switch {
	case m.pauses >= pausesTell && m.brokenOff >= brokenShare*m.pauses:
		f.cap = tossUpCap
		f.or(model.Outage, "ping the server all the while, ten times a second: if pings stay away with the data, the path is interrupted")
	case m.net == 0:
		f.cap = 0.5
	case m.op == "READ" && (m.pauses < pausesTell || !m.tellsOrder):
		f.cap = unseenEndCap
	}
	f.say(m.end.Host, "silent_share", m.silent, "ratio", m.n, "nothing moves in %s of the samples although %.1f %s calls are under way", pct(m.silent), m.inflight, m.op)
	m.serverEvidence(f, server)
	if m.pauses > 0 && m.tellsOrder {
		f.say(m.end.Host, "broken_pauses", m.brokenOff, "pauses", m.n, "of %.0f pauses %.0f ended with segments out of order, as after losses on the path", m.pauses, m.brokenOff)
	}
	return f
}

// serverLikely blames the server because no queue, loss or window explains a call's
// time. The server's TCP, which is not seen, may still explain it.
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

// unexplained: data comes all the time at one rate, and this end does not show what
// sets that rate.
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

// moreAdvice says how to have more calls under way.
func moreAdvice(w words, reads bool) string {
	more := slices.Clone(w.more)
	if reads {
		more = append([]string{"more read-ahead"}, more...)
	}
	return "have more data under way: " + strings.Join(more[:len(more)-1], ", ") + ", or " + more[len(more)-1]
}
