package explain

import (
	"math"

	"linerate/internal/model"
)

// Detectors for a case with only the receiving end, as of a client whose server nobody
// can log in to. None of them is sure, because the sender's state is not seen.
const (
	// queueBytes is the shortest queue that counts: 33 packets. A few packets are
	// the noise of any path.
	queueBytes = 48 << 10
	// oneRate: up to this ratio of its 90% to its 10% quantile the rate is constant,
	// as that of a full link is.
	oneRate = 1.3
	// quiet: the path is in use all the time where at most this share of the samples
	// shows no data.
	quiet = 0.05
	// lateShare and lateEvents: losses count from this share of segments out of
	// order on, in at least so many samples.
	lateShare  = 0.01
	lateEvents = 3
	// A loss-based sender at a known loss reaches the rate of lossResponse,
	// give or take this much (events too near each other count as one).
	aboveResponse = 5
	belowResponse = 0.1
	// noTimeLeft: a core this busy has none to spare.
	noTimeLeft = 0.95
)

// alone tells whether only the receiving end of the flow was seen.
func (s *scene) alone() bool { return s.snd == nil && s.rcv != nil }

// delayHere is by how much the round trip stays above its minimum, in
// seconds, as the receiving end tells: by its own requests or, when it sends
// none, by its estimate from the data; then own is false.
func (s *scene) delayHere() (d float64, own bool) {
	r := s.rcv
	if known(r.standing) {
		return r.standing, true
	}
	if r.last.MinRTT <= 0 || r.rtt <= 0 {
		return unknown(), false
	}
	return (r.rtt - s.minRTT).Seconds(), false
}

// queueHere is whether, by that delay, a queue stands in the path.
func (s *scene) queueHere() bool {
	d, _ := s.delayHere()
	return 1+d/s.minRTT.Seconds() >= standingQueue && d*s.total/8 >= queueBytes
}

// seeFullCoreAlone: nobody tells how the reader fares (the kernel itself
// reads, or we may not look), but the host has no CPU time left. Then queues
// and losses are the host's own.
func seeFullCoreAlone(s *scene) *finding {
	v := s.reader
	if !s.alone() || v == nil || v.run >= 0 {
		return nil
	}
	// Work of low priority fills every core and takes nothing from the reader:
	// a reader that runs short of CPU reads unevenly, or drops.
	short := s.rcv.drops > 0 || (s.rcv.spread > oneRate && !s.lossFits())
	if !(v.least >= noTimeLeft && short) && !(v.busy >= noTimeLeft && v.kernel >= kernelWork) {
		return nil
	}
	f := &finding{id: model.ReceiverCPU, host: v.end.Host, cause: causeNoCore, margin: over(v.busy, noTimeLeft, 1), cap: 0.5, costs: true}
	f.say(f.host, "core_busy_share", v.busy, "ratio", v.n, "no CPU has time left: core %d is busy %s of the time", v.core, pct(v.busy))
	if s.rcv.drops > 0 {
		f.say(f.host, "socket_drops", s.rcv.drops, "packets", s.rcv.n, "%.0f packets were dropped at the socket", s.rcv.drops)
	}
	f.or(model.LinkRate, "watch again while nothing else runs: if the rate stays, the path carries no more")
	f.or(model.SenderCPU, "log in at the sending end: its writer's CPU time and run delay tell")
	return f
}

// seeSlowLinkAlone: a queue stands in the path all the time and the rate
// stays put.
func seeSlowLinkAlone(s *scene) *finding {
	r := s.rcv
	if !s.alone() || !s.queueHere() || !(r.silent <= quiet) || !(r.spread <= oneRate) || r.queued >= queuedShare {
		return nil
	}
	d, own := s.delayHere()
	bytes := d * s.total / 8
	f := &finding{id: model.LinkRate, margin: over(bytes, queueBytes, 8*queueBytes), cap: 0.65, costs: true}
	h, what := s.c.Receiver.host(), "the round trip of this end's requests"
	if !own {
		f.cap, what = 0.5, "the round trip as the data shows it"
	}
	f.say(h, "standing_queue", bytes, "bytes", r.n, "%s stand in a queue on the way: %s stays %s above its minimum of %s", size(bytes), what, seconds(d), ms(s.minRTT))
	f.say(h, "rate_spread", r.spread, "ratio", r.n, "the rate stays put: its high tenth is %.2f times its low tenth, and no sample is without data", r.spread)
	f.or(model.PathQueue, "add a second stream: a link or a policer holds the sum")
	f.or(model.LocalQdisc, "log in at the sending end: its own queueing discipline would look the same from here")
	if !(s.reader.run >= 0) {
		f.or(model.ReceiverCPU, s.c.Receiver.seeTasks("the reader"))
	}
	if r.late >= lateShare {
		f.cap = tossUpCap
		f.say(h, "out_of_order_share", r.late, "ratio", r.n, "%s of the segments come out of order", pct(r.late))
		f.or(model.Reordering, "log in at the sending end: retransmits that turn out needless tell")
		f.or(model.PathLoss, pacedProbe)
	}
	if !own {
		f.or(model.SenderCPU, "log in at the sending end: a sender that stutters would look the same from here")
	}
	return f
}

// seeLossAlone: segments come out of order because some before them were
// lost, while no queue stands; and the rate is what a loss-based sender
// reaches at so many losses.
func seeLossAlone(s *scene) *finding {
	if !s.alone() || s.queueHere() || !s.lossFits() {
		return nil
	}
	r, x := s.rcv, s.overResponse()
	f := &finding{id: model.PathLoss, margin: over(math.Log10(r.late), -3, -1), cap: 0.65, costs: true}
	h := s.c.Receiver.host()
	f.say(h, "out_of_order_share", r.late, "ratio", r.n, "%s of the segments come after a gap: something before them was lost on the way", pct(r.late))
	f.say(h, "out_of_order_samples", r.lateIn, "ratio", r.n, "that happens in %s of the samples", pct(r.lateIn))
	f.say(h, "response_ratio", x, "ratio", r.n, "the rate is %.2f times what a loss-based sender reaches at so many losses", x)
	d, _ := s.delayHere()
	f.say(h, "standing_delay", d*1e3, "ms", r.n, "no queue stands: the round trip stays %s above its minimum of %s", seconds(max(0, d)), ms(s.minRTT))
	f.or(model.PathQueue, pacedProbe)
	f.or(model.Reordering, "log in at the sending end: retransmits that turn out needless tell")
	f.or(model.SACKOff, "log in at the sending end: its connection's options tell")
	f.placeLosses(s, r.gaps())
	return f
}

// gaps is the number of samples in which segments came out of order.
func (v *rcvView) gaps() float64 { return v.lateIn * float64(v.n-1) }

// overResponse is the rate over what a loss-based sender reaches at the
// losses that the receiver saw.
func (s *scene) overResponse() float64 {
	r := s.rcv
	return ratio(r.rate, s.lossResponse(r.gaps(), float64(r.last.RcvMSS), r.rate/8*r.dur.Seconds()))
}

// lossFits: the gaps are many, or as many as the rate needs; and the host did
// not drop the segments itself.
func (s *scene) lossFits() bool {
	r, x := s.rcv, s.overResponse()
	if r.drops > 0 && r.drops >= r.gaps() {
		return false
	}
	often := r.late >= lateShare && !(x > aboveResponse)
	return often || (r.gaps() >= lateEvents && x <= aboveResponse && x >= belowResponse)
}

// lossResponse is the rate (bit/s) that cubic or reno, whichever is more,
// reaches when it meets that many losses while it moves the bytes: RFC 8312
// section 5.1 with C = 0.4, RFC 5348 section 3.1 in its simple form. Losses
// within one round trip are one: they cut the window once.
func (s *scene) lossResponse(events, mss, bytes float64) float64 {
	p, rtt := ratio(events*mss, bytes), s.minRTT.Seconds()
	if !(p > 0) || rtt <= 0 {
		return unknown()
	}
	reno := math.Sqrt(1.5 / p)
	cubic := 1.054 * math.Pow(rtt/p, 0.75)
	return max(reno, cubic) * mss * 8 / rtt
}
