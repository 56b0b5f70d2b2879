package explain

import "linerate/internal/model"

const (
	// stalledBytes acknowledged over a whole recording: nothing of size passed.
	stalledBytes = 20000
	// resentMost: this share of the segments was sent again and still waits.
	resentMost = 0.3
	// sureSilence: a path that loses six segments in ten loses the last one and three repeats
	// of it once in eight times, and is up. From this many doublings of the timeout on, a
	// silence is an outage.
	sureSilence = 4
	// unseenEndCap is the most confidence in a black hole where nobody sees what arrives.
	unseenEndCap = 0.65
	// fullSegments: having this many full segments acknowledged, the path
	// carried the full size once.
	fullSegments = 20
)

// seeStalled: full-sized segments go out again and again and are never
// acknowledged. That the handshake and small segments passed tells a
// blackhole of large packets from an outage.
func seeStalled(s *scene) *finding {
	if f := s.stuckHere(); f != nil {
		return f
	}
	v := s.snd
	if v == nil || !v.stalled(s.shrunk()) {
		return nil
	}
	f := &finding{id: model.MTUBlackhole, margin: over(v.backoff, 1, 4), cap: 0.8}
	if v.backoff < 2 {
		f.cap = 0.6 // so far it may be a burst of losses
	}
	ever := float64(v.last.BytesAcked)
	h := s.c.Sender.host()
	if v.backoff >= 1 {
		f.say(h, "rto_backoff", v.backoff, "doublings", v.n, "full-sized segments are sent again with the timeout doubled %.0f times and are never acknowledged", v.backoff)
	} else {
		f.say(h, "rto_backoff", v.backoff, "doublings", v.n, "full-sized segments are sent again and are never acknowledged")
	}
	f.say(h, "segments_resent", v.resent, "segments", v.n, "%.0f segments were sent again", v.resent)
	f.say(h, "bytes_acked", ever, "bytes", v.n, "only %s were ever acknowledged, although the handshake passed", size(ever))
	f.say(h, "snd_mss", float64(v.last.SndMSS), "bytes", v.n, "segments carry %d bytes", v.last.SndMSS)
	if ever >= float64(fullSegments*v.last.SndMSS) || s.arrived() {
		f.id, f.cap = model.Outage, 0.7
		if v.backoff < sureSilence {
			f.cap = contradictedCap
		}
		f.arrivesAll(s)
		f.or(model.MTUBlackhole, "ping the other end with the don't-fragment bit set, small and at the full MTU: if only the small ones return, the path's MTU shrank")
		return f
	}
	switch {
	case s.rcv == nil:
		// It may have arrived, and the acknowledgments be lost: a filter that drops those with SACK
		// options lets the ones of a small request pass.
		f.cap = min(f.cap, unseenEndCap)
	case ever > 1:
		f.cap = 0.95 // small data passed on this very connection
	}
	f.narrowHop(s, s.wanted())
	f.or(model.Outage, "ping the other end with the don't-fragment bit set, small and at the full MTU: if the small ones do not return either, it is an outage")
	return f
}

// wanted is the MTU that the way is to carry: what the agreed segments need.
func (s *scene) wanted() int {
	in := s.c.link.Inputs
	return max(in.MTU, s.snd.last.SndMSS+in.headers())
}

// arrivesAll: the receiver counts as many segments as were sent, or has most of the bytes that
// the sender still waits to hear of. Then it is the acknowledgments that do not
// come back, all of them or only those of a kind.
func (f *finding) arrivesAll(s *scene) {
	if !s.countsAlike() {
		return
	}
	h, snd, rcv := s.c.Receiver.host(), s.snd.last, s.rcv.last
	sent, came := snd.DataSegsOut, rcv.DataSegsIn
	waits, there := s.waitsThere()
	switch {
	case sent > 0 && came <= sent && sent-came <= int64(snd.Unacked)/2:
		f.say(h, "segments_arrived", float64(came), "segments", s.rcv.n, "of %d segments that were sent %d arrived: the way of the data is up, and its acknowledgments do not come back", sent, came)
	case s.arrived():
		f.say(h, "bytes_arrived", float64(there), "bytes", s.rcv.n, "of %s that are not acknowledged %s arrived in order: the way of the data is up, and its acknowledgments do not come back", size(float64(waits)), size(float64(there)))
	default:
		return
	}
	f.cap = contradictedCap
	f.evidence = append(f.evidence[len(f.evidence)-1:], f.evidence[:len(f.evidence)-1]...)
	f.advice = "look for what drops acknowledgments on the way from " + h + ": a filter, a rate limit, or a box that does not pass their SACK options"
	f.or(model.PathLoss, "capture at both ends: acknowledgments that leave the receiver and do not arrive are lost on the way back")
}

// waitsThere is how many bytes the sender waits to hear of, and how many of those have arrived in order.
func (s *scene) waitsThere() (waits, there int64) {
	snd, rcv := s.snd.last, s.rcv.last
	return int64(snd.Unacked) * int64(snd.SndMSS), rcv.BytesReceived - snd.BytesAcked
}

// arrived: most of what the sender waits to hear of is there, so that the path carries its size. More than
// that cannot be: such counters are not those of one connection.
func (s *scene) arrived() bool {
	if !s.countsAlike() {
		return false
	}
	waits, there := s.waitsThere()
	return there > waits/2 && there <= waits
}

// countsAlike: both ends are seen, and count since the connection began. Those of Windows count since it
// was watched.
func (s *scene) countsAlike() bool {
	return s.snd != nil && s.rcv != nil && s.snd.last.From == "" && s.rcv.last.From == ""
}

// stuckHere: timeouts pass and yet nothing is sent again. The kernel does not send a
// segment again whose first copy has not left the host, but doubles the timeout all the
// same (__tcp_retransmit_skb in net/ipv4/tcp_output.c). So the segment is stuck in this
// host, and the path is not to blame. A receiver in that state acknowledges nothing.
func (s *scene) stuckHere() *finding {
	v := s.snd
	switch {
	case s.rcv != nil && s.rcv.rate == 0 && stuck(s.rcv.last, float64(s.rcv.last.Backoff)):
		return s.stuckAt(s.c.Receiver, s.rcv.last, float64(s.rcv.last.Backoff), s.rcv.n)
	case v != nil && v.stalled(s.shrunk()) && stuck(v.last, v.backoff):
		return s.stuckAt(s.c.Sender, v.last, v.backoff, v.n)
	}
	return nil
}

func stuck(c *model.Conn, backoff float64) bool {
	return backoff >= 2 && c.Unacked > 0 && float64(c.TotalRetrans) < backoff
}

func (s *scene) stuckAt(e *End, c *model.Conn, backoff float64, n int) *finding {
	f := &finding{id: model.LocalQdisc, host: e.host(), margin: over(backoff, 1, 4), cap: 0.8,
		advice: "packets do not leave this host: look at its transmit queue (tc -s qdisc, ethtool -S) and at the kernel's log for a stalled one (transmit queue timed out); set the interface down and up, and see to its driver"}
	f.say(f.host, "rto_backoff", backoff, "doublings", n, "the timeout doubled %.0f times and only %d segments were sent again: the first copies have not left the host", backoff, c.TotalRetrans)
	f.say(f.host, "bytes_acked", float64(c.BytesAcked), "bytes", n, "%s were acknowledged before", size(float64(c.BytesAcked)))
	f.or(model.Outage, "capture at this host's own interface: a segment that is seen there has left the host")
	return f
}

// stalled: the timeout doubled more than once and next to nothing was
// acknowledged, or what little went out had to go out again. A segment size
// that probing cut is on its way out of a stall.
func (v *sndView) stalled(shrunk bool) bool {
	nothing := v.acked < max(stalledBytes, 3*float64(v.last.SndMSS))
	// Probes of a window that the reader closed double the same timeout
	// (tcp_send_probe0 in net/ipv4/tcp_output.c): then nothing is in flight.
	if v.backoff >= 2 && v.last.Unacked > 0 {
		return nothing || (v.lossState > 0.5 && !shrunk)
	}
	return nothing && v.resent >= 2 && v.retrans >= resentMost && v.last.Unacked > 0
}
