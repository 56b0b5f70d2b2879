package explain

import (
	"math"

	"linerate/internal/model"
)

const (
	// deepQueue and deepSegments: on a slow link few bytes are a long queue.
	deepQueue    = 3.0
	deepSegments = 16
	// probedMSS: the MSS in use is below the advertised one by more than
	// options can explain.
	probedMSS = 0.95
	// standingQueue: RTT over minimum RTT from which a queue stands.
	standingQueue = 1.12
	// rareLoss: below it bbr keeps the link full (measured up to 1%).
	rareLoss = 0.01
	// tossUpCap is the most confidence where losses may be random ones or a queue's, and
	// only the paced probe tells them apart.
	tossUpCap = 0.45
	// nearCeilingCap caps the confidence that nothing is wrong where 5% or more of the
	// ceiling are missing.
	nearCeilingCap = 0.6
	// lossFloor: a retransmitted share below it is a stray event.
	lossFloor = 2e-5
)

// seeCeiling: nothing to remove.
func seeCeiling(s *scene) *finding {
	share := ratio(s.total, s.ceiling)
	if !(share >= atCeiling) || share < belowCeiling && s.windowTakesRest() {
		return nil
	}
	f := &finding{id: model.None, margin: over(share, atCeiling, 0.97)}
	f.say("", "share_of_ceiling", share, "ratio", s.n(), "goodput is %s of the ceiling", pct(share))
	if s.snd != nil && s.snd.retrans > lossFloor {
		f.notes = append(f.notes, "segments are lost ("+pct(s.snd.retrans)+" retransmitted) without holding the rate back")
	}
	if share < belowCeiling {
		f.cap = nearCeilingCap
		f.notes = append(f.notes, pct(1-share)+" of the ceiling is missing, and what takes it is not explained")
	}
	return f
}

// seeProbed: MTU probing (RFC 4821) cut the segment size after a blackhole,
// while no router told a smaller MTU (the path MTU in force is still the
// full one) and the peer accepts full segments.
func seeProbed(s *scene) *finding {
	v := s.snd
	if v == nil || !s.shrunk() && !s.foundSmaller() {
		return nil
	}
	if s.rcv != nil && float64(s.rcv.last.AdvMSS) < probedMSS*float64(v.last.AdvMSS) {
		return nil
	}
	full := v.last.PMTU >= v.last.AdvMSS+ipTCPHeaders
	probed := s.foundSmaller() || v.last.TotalRTO > 0 || s.sender.snmp["TcpExt.TCPMTUPSuccess"] > 0
	if !full || !probed {
		return nil
	}
	f := &finding{id: model.MTUBlackhole, cause: causeProbed, margin: over(float64(v.last.SndMSS)/float64(v.last.AdvMSS), probedMSS, 0.8)}
	h := s.c.Sender.host()
	f.say(h, "snd_mss", float64(v.last.SndMSS), "bytes", v.n, "probing cut the segment size to %d bytes, although %d were agreed and no router reported a smaller MTU", v.last.SndMSS, v.last.AdvMSS)
	f.say(h, "total_rto", float64(v.last.TotalRTO), "timeouts", v.n, "%d timeouts came first", v.last.TotalRTO)
	f.narrowHop(s, s.wanted())
	return f
}

// foundSmaller: probing found a segment size that passes after timeouts of this
// very connection, be it only a little below the one agreed.
func (s *scene) foundSmaller() bool {
	c := s.snd.last
	return c.SndMSS < c.AdvMSS && c.TotalRTO > 0 && s.sender != nil && s.sender.snmp["TcpExt.TCPMTUPSuccess"] > 0
}

// shrunk: the segment size in use is well below the one agreed.
func (s *scene) shrunk() bool {
	c := s.snd.last
	return c.AdvMSS > 0 && float64(c.SndMSS) < probedMSS*float64(c.AdvMSS)
}

// seeStartUp: over before it was steady. A slow connection that was watched for a moment may have
// moved as little in a long time: how long it had something to send before tells.
func seeStartUp(s *scene) *finding {
	if s.minRTT == 0 || !s.span.fresh || s.span.whole+s.flow.before() >= startUpRTTs*s.minRTT {
		return nil
	}
	trips := ratio(s.span.whole.Seconds(), s.minRTT.Seconds())
	f := &finding{id: model.StartUp, margin: over(trips, startUpRTTs, startUpRTTs/2)}
	f.say("", "duration_rtts", trips, "round trips", s.n(), "the transfer lasted %.0f round trips of %s", trips, ms(s.minRTT))
	return f
}

// seeSACKOff: losses without selective acknowledgment, each of which costs a
// round trip of its own (RFC 2018).
func seeSACKOff(s *scene) *finding {
	v := s.snd
	if v == nil || v.last.Options == 0 || v.last.Options&optSACK != 0 || !(v.retrans > 0.001 || v.rtos > 0) {
		return nil
	}
	f := &finding{id: model.SACKOff, margin: over(v.retrans, 0.001, 0.02), cap: 0.8, costs: true}
	h := s.c.Sender.host()
	f.say(h, "retransmit_share", v.retrans, "ratio", v.n, "%s of the bytes are sent again on a connection without SACK", pct(v.retrans))
	f.say(h, "timeouts", v.rtos, "timeouts", v.n, "%.0f retransmission timeouts", v.rtos)
	f.or(model.PathLoss, "turn SACK on at both ends: losses that then still hold the rate back are the path's")
	return f
}

// seeReordering: most retransmits turn out needless.
func seeReordering(s *scene) *finding {
	v := s.snd
	if v == nil || !v.late() {
		return nil
	}
	needless := ratio(v.dsacks, v.resent)
	f := &finding{id: model.Reordering, margin: over(needless, needlessShare, 0.8), cap: 0.8, costs: true}
	f.say(s.c.Sender.host(), "needless_retransmits", needless, "ratio", v.n, "%s of the retransmitted segments had arrived after all", pct(needless))
	f.say(s.c.Sender.host(), "reordering_seen", v.reordSeen, "events", v.n, "reordering was seen %.0f times", v.reordSeen)
	f.or(model.PathLoss, "send at the same rate, evenly paced: what is still retransmitted is lost, not late")
	return f
}

// late: the segments that were sent again had arrived after all. Where a segment comes
// later than the sender waits, reord_seen stays 0 and only this tells.
func (v *sndView) late() bool {
	needless := ratio(v.dsacks, v.resent)
	return v.reordSeen >= reorderingEvents && needless >= needlessShare || v.dsacks >= spuriousEvents && needless >= spuriousShare
}

// seePoliced: a congestion control that does not slow down for losses still
// has its rate capped, with losses and no queue.
func seePoliced(s *scene) *finding {
	v := s.snd
	if v == nil || !s.modelBased() || !(v.retrans >= policedShare) || !(v.queue < policedQueue) {
		return nil
	}
	f := &finding{id: model.PathQueue, margin: over(v.retrans, policedShare, 0.06), cap: 0.65, costs: true}
	f.pathEvidence(s)
	f.or(model.PathLoss, pacedProbe)
	f.or(model.LinkRate, "add a second stream: a policer or a link holds the sum, random loss does not")
	f.unseenReader(s)
	f.placeLosses(s, v.resent)
	return f
}

// seeSlowLink: nothing at the ends holds the rate back and the path does not
// carry more: it queues, or a model-based sender has measured its rate.
func seeSlowLink(s *scene) *finding {
	v := s.snd
	if v == nil || v.acked == 0 || !(s.queues() || s.modelBased()) {
		return nil
	}
	if (s.stolen() || s.sender != nil && s.sender.least >= noTimeLeft) && !(v.spread <= steadyRate) {
		return nil // a link's rate stays put; one that jumps about with the CPU is not the link's
	}
	if v.top >= carried*s.ceiling {
		return nil // it carries all that it should at times: what comes and goes holds the rate back
	}
	f := &finding{id: model.LinkRate, margin: max(over(v.queue, standingQueue, 1.5), s.missing()), cap: 0.85, costs: true}
	if !s.queues() {
		f.cap = 0.7
	}
	f.pathEvidence(s)
	if math.IsNaN(s.ceiling) {
		f.notes = append(f.notes, "no line rate is known: the path carries this much, whether it should carry more cannot be said")
	}
	lost := s.ackLoss()
	f.say("", "ack_loss_share", lost, "ratio", v.n, "%s of the acknowledgments do not come back", pct(lost))
	f.or(model.PathQueue, "test the reverse direction, and add a second stream: a slow or policed reverse path looks the same from here")
	f.unseenReader(s)
	return f
}

const (
	// stealShare of a core's time taken by the hypervisor from which delays,
	// queues and losses may be its doing.
	stealShare = 0.03
	// lossesSure: losses in so many samples do not come from one or two pauses of
	// the virtual machine.
	lossesSure = 6
	// carried: a path that at times reaches this share of the ceiling has no slow
	// link.
	carried = 0.95
	// burstSwing and burstWaits recognise bursts that the sender itself makes. Where these come
	// evenly, the mean deviation of the round trip is half of the mean wait (measured: 0.26 to
	// 0.48; behind a slow link 0.01), and that wait is half of the time that the burst takes, with
	// room for what is sent in between.
	burstSwing = 0.15
	burstWaits = 0.75
	// steadyRate is the spread of a rate that a link sets.
	steadyRate = 1.25
)

// stolen: the hypervisor takes the CPU from an end. Its packets then wait for
// the CPU, which reads like a queue of the path, and come in bursts.
func (s *scene) stolen() bool { return s.stolenShare() >= stealShare }

func (s *scene) stolenShare() (most float64) {
	for _, v := range []*hostView{s.sender, s.reader} {
		if v != nil && v.steal > most {
			most = v.steal
		}
	}
	return most
}

func (f *finding) stealEvidence(s *scene) {
	if s.stolen() {
		f.say("", "steal_share", s.stolenShare(), "ratio", s.n(), "the hypervisor takes %s of the time of the core in use", pct(s.stolenShare()))
		f.notes = append(f.notes, "the machine under this virtual one is busy with other work: measure again when it is quieter")
	}
}

// behindQueue: so much of a queue stands in the path that a window or buffer of so many bytes
// which is full behind it is not the limit.
func (s *scene) behindQueue(held float64) bool {
	v := s.snd
	return v.queue >= queuedPath && !(s.stolen() && v.queue < 2) &&
		!s.ownBurst(held, (v.queue-1)*s.minRTT.Seconds(), v.swing)
}

// ownBurst: so many bytes, sent at once in each round trip, wait for each other at the path's line
// rate and no longer: on average half of what all of them take there. The round trip then swings
// between its minimum and the end of the burst; behind a queue of the path it stays put.
func (s *scene) ownBurst(held, waits, swing float64) bool {
	return swing >= burstSwing && waits <= burstWaits*ratio(8*held, s.ceiling)
}

// queues: the round trip is well above its minimum, and by more than the
// noise of a few packets.
func (s *scene) queues() bool {
	v := s.snd
	bytes := (v.queue - 1) * s.minRTT.Seconds() * s.total / 8
	deep := v.queue >= deepQueue && bytes >= float64(deepSegments*v.last.SndMSS)
	return v.queue >= standingQueue && (bytes >= queueBytes || deep)
}

// ackLoss is the share of the receiver's segments that the sender never saw,
// unknown unless both ends of the flow were seen.
func (s *scene) ackLoss() float64 {
	if s.rcv == nil || s.snd == nil {
		return unknown()
	}
	lost := 1 - ratio(float64(s.snd.last.SegsIn), float64(s.rcv.last.SegsOut))
	if lost < 0.02 {
		return unknown()
	}
	return lost
}

// seeLoss: a loss-based sender keeps cutting its window while the queue is short. Losses
// that come evenly are random ones. A queue that overflows, or a policer, drops several
// at a time, as some faults of a path do as well: those are a queue's, likelier than not,
// and only the paced probe is sure of it.
func seeLoss(s *scene) *finding {
	v := s.snd
	if v == nil || s.modelBased() || !known(v.losses) {
		return nil
	}
	recovering := v.retrans <= lossFloor && v.early > 0 && v.cwndGrowth > 1.05
	if !(v.retrans > lossFloor) && !recovering || s.outrunsLoss() {
		return nil
	}
	if s.stolen() && (v.losses < lossesSure || v.rate > 2*s.sentResponse()) {
		return nil // queues that overflow after each pause lose packets too
	}
	f := &finding{id: model.PathLoss, margin: over(math.Log10(v.retrans), math.Log10(lossFloor), -3), cap: 0.8, costs: true}
	if recovering {
		f.say(s.c.Sender.host(), "early_retransmits", v.early, "segments", v.n, "%.0f segments were sent again before the steady part, and the congestion window has grown %.2f times since", v.early, v.cwndGrowth)
	}
	f.pathEvidence(s)
	want := s.sentResponse()
	f.say(s.c.Sender.host(), "response_ratio", ratio(v.rate, want), "ratio", v.n, "a loss-based sender is expected to reach about %s at so many losses", bits(want))
	// A queue that overflows now and then and drops one segment each time looks even, too,
	// until there are enough of them to be told from chance.
	if s.pattern() != patternRandom || v.losses < lossesSure {
		f.cap = tossUpCap
	}
	if recovering {
		f.cap = tossUpCap
		f.notes = append(f.notes, "the window is still growing back after an earlier loss: watch longer")
	}
	if !known(v.dsacks) { // late ones look like lost ones
		f.cap = tossUpCap
		f.or(model.Reordering, "send at the same rate, evenly paced: what is still sent again is lost; or watch with Linux 4.20 or later at the sending end, which counts segments that arrive twice")
	}
	other := model.PathQueue
	if !recovering && v.losses >= lateEvents && v.dispersion > evenMost {
		f.id, other, f.advice = model.PathQueue, model.PathLoss, burstAdvice
	}
	f.or(other, pacedProbe)
	if v.retrans < rareLoss && v.last.CC != "" {
		f.or(model.CongestionControl, "send with a congestion control that goes by a model of the path (bbr), which so few losses do not slow down; "+v.last.CC+" is in force")
	}
	f.unseenReader(s)
	f.placeLosses(s, v.resent)
	return f
}

// sentResponse is lossResponse at the losses that the sender met.
func (s *scene) sentResponse() float64 {
	return s.lossResponse(s.snd.losses, float64(s.snd.last.SndMSS), s.snd.acked)
}

// outrunsLoss: the rate is far above what a loss-based sender could reach if
// the losses held it back; a bound before the claim.
func (s *scene) outrunsLoss() bool {
	v := s.snd
	return v.losses >= lateEvents && v.rate > aboveResponse*s.sentResponse()
}

// seeNothing comes last: it says what was seen and names no limiter.
func seeNothing(s *scene) *finding {
	f := &finding{id: model.Undetermined, cap: 0.3}
	if s.snd != nil {
		f.stealEvidence(s)
		lossy := s.snd.retrans > lossFloor && s.outrunsLoss()
		if v := s.snd; lossy {
			f.say(s.c.Sender.host(), "response_ratio", ratio(v.rate, s.sentResponse()), "ratio", v.n,
				"segments are lost, but so many random losses would allow no more than %s: they are not what limits the rate", bits(s.sentResponse()))
		}
		f.pathEvidence(s)
		if s.snd.cwndGrowth > 1.05 {
			f.notes = append(f.notes, "the congestion window is still growing: watch longer")
		}
		if s.overSendBuffer() && s.pinnedSendBuffer() {
			f.or(model.SendBuffer, fixedBufferProbe)
		}
		if lossy {
			f.or(model.PathQueue, pacedProbe)
		} else {
			f.or(model.PathLoss, "watch for longer: each loss sets the congestion window back")
		}
		f.or(model.LinkRate, "add a second stream: if the sum stays the same, the path carries no more")
		f.unseenReader(s)
		return f
	}
	if s.rcv != nil {
		h := s.c.Receiver.host()
		f.say(h, "receive_queue_share", s.rcv.queued, "ratio", s.rcv.n, "the receive queue holds %s of the window: the reader keeps up", pct(s.rcv.queued))
		f.say(h, "window_used", s.rcv.filled, "ratio", s.rcv.n, "%s of the advertised window is used", pct(s.rcv.filled))
		for _, id := range []model.LimiterID{model.ApplicationSource, model.SenderCPU, model.SendBuffer, model.PathLoss, model.LinkRate} {
			f.or(id, "log in at the sending end: its tcp_info tells")
		}
	}
	return f
}

// pathEvidence adds what the sender saw of the path.
func (f *finding) pathEvidence(s *scene) {
	v, h := s.snd, s.c.Sender.host()
	f.say(h, "rtt_over_min", v.queue, "ratio", v.n, "RTT is %.2f times its minimum of %s", v.queue, ms(s.minRTT))
	f.say(h, "retransmit_share", v.retrans, "ratio", v.n, "%s of the bytes are sent again", pct(v.retrans))
	f.say(h, "inflight_over_cwnd", v.inflight, "ratio", v.n, "data in flight is %s of the congestion window", pct(v.inflight))
	if (f.id == model.PathLoss || f.id == model.PathQueue) && len(f.evidence) > 1 && v.retrans > lossFloor {
		f.evidence[0], f.evidence[1] = f.evidence[1], f.evidence[0]
	}
	if tellsPattern(f.id) {
		f.patternEvidence(s)
	}
}

// unseenReader adds what a starved reader would look like from here: like a
// path that queues (only its run delay would tell).
func (f *finding) unseenReader(s *scene) {
	switch {
	case s.c.Receiver == nil:
		f.cap = min(f.cap, 0.5)
		f.or(model.ReceiverCPU, "log in at the receiving end: the reader's run delay tells")
	case !(s.reader.run >= 0):
		f.cap = min(f.cap, 0.6)
		how := "watch the receiving end as root: the reader's run delay tells"
		if s.c.Receiver.byRoot() {
			how = s.c.Receiver.seeTasks("the reader")
		}
		f.or(model.ReceiverCPU, how)
	}
}

const optSACK = 2
