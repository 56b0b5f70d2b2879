package explain

import (
	"fmt"

	"linerate/internal/model"
	calc "linerate/internal/size"
)

// The signs: each is read from the views by itself, whatever detector fired. So a
// fault that no detector knows still shows its signs, and they contradict the verdict
// that some detector came to.

const (
	// congestionFull and modelFull: data in flight over the congestion window. A
	// model-based control keeps the window at twice what the path holds.
	congestionFull = 0.75
	modelFull      = 0.40
)

// sight tells whether a sign is seen. The zero value means that the view which would show it is
// missing.
type sight int

const (
	notVisible sight = iota
	notThere
	there
)

func seenIf(yes bool) sight {
	if yes {
		return there
	}
	return notThere
}

// signal is one sign as it was seen.
type signal struct {
	sight sight
	what  string // the observation, where it is there
}

func (s *scene) reads(yes bool, format string, args ...any) signal {
	return signal{seenIf(yes), fmt.Sprintf(format, args...)}
}

// read reads a sign.
func (s *scene) read(id model.Sign) signal {
	switch id {
	case model.WriterShort:
		return s.readWriter()
	case model.ReaderShort:
		return s.readReader()
	case model.DataUnread:
		if s.rcv == nil {
			return signal{}
		}
		return s.reads(s.rcv.queued >= queuedShare, "received data waits in the receive queue (%s of the window)", pct(s.rcv.queued))
	case model.CoreFull:
		return s.readCores()
	case model.MemoryShort:
		if s.sender == nil && s.reader == nil {
			return signal{}
		}
		for _, v := range []*hostView{s.reader, s.sender} {
			if s.memoryOf(v).short() {
				return signal{there, v.end.Host + " runs out of memory for TCP"}
			}
		}
		return signal{sight: notThere}
	case model.OthersTraffic:
		if rate, at := s.othersOnLink(); at != nil {
			return signal{there, fmt.Sprintf("%s of other traffic pass the same port of %s", bits(rate), at.Host)}
		}
		if s.sender != nil && known(s.sender.beside) || s.reader != nil && known(s.reader.beside) {
			return signal{sight: notThere}
		}
		return signal{}
	case model.PausedPort:
		f := seePaused(s)
		if f == nil {
			return signal{sight: notThere}
		}
		return signal{there, f.evidence[0].What}
	}
	if s.snd == nil || s.unshownSign(id) {
		return signal{}
	}
	if r := s.readSocket(id); r.sight != notVisible {
		return r
	}
	return s.readPath(id)
}

// readSocket reads the signs of the sending socket.
func (s *scene) readSocket(id model.Sign) signal {
	v := s.snd
	switch id {
	case model.WindowFull:
		full := s.windowBound() && !s.behindQueue(v.wndMid) && !s.carries(v.wndMid)
		return s.reads(full, "data in flight fills %s of the advertised window of %s", pct(v.window), size(v.wndMid))
	case model.BufferFull:
		small := !s.behindQueue(v.takesIn()) && !s.carries(calc.SendShare*v.takesIn())
		full := v.sndbuf >= sndbufShare || s.nothingWaits() && s.bufferIsFull()
		return s.reads(small && full, "the send queue fills %s of the send buffer of %s", pct(v.fillMid), size(float64(v.last.SndBuf)))
	case model.NothingToSend:
		return s.reads(s.starvedOfData() && !s.bufferIsFull(), "the socket has nothing left to send in %s of the samples", pct(max(v.dry, v.appLimited)))
	case model.Paced:
		return s.reads(v.rate >= pacedShare*v.maxPacing, "the rate is at the socket's maximum pacing rate")
	case model.HeldAtHome:
		return s.reads(seeQdisc(s) != nil || s.stuckHere() != nil, "the sender's own queueing discipline holds packets back or drops them")
	case model.CongestionFull:
		least := congestionFull
		if s.modelBased() {
			least = modelFull
		}
		// Behind a queue a full window or buffer only bounds how much stands in it.
		behind := s.windowBound() && s.behindQueue(v.wndMid) ||
			(v.sndbuf >= sndbufShare || s.bufferIsFull()) && s.behindQueue(v.takesIn())
		return s.reads(v.inflight >= least || behind, "data in flight is %s of the congestion window", pct(v.inflight))
	}
	return signal{}
}

// readPath reads the signs of the path, as the sender sees it.
func (s *scene) readPath(id model.Sign) signal {
	v := s.snd
	switch id {
	case model.QueueStands:
		return s.reads(s.queues() || s.modelBased() && s.queuesAtTimes(), "RTT is %.2f times its minimum", v.queue)
	case model.RateSteady:
		if !known(v.spread) && v.n < fewSamples {
			return signal{}
		}
		return s.reads(v.spread <= steadyRate, "the rate stays put")
	case model.SegmentsLost:
		return s.reads(v.retrans > lossFloor, "%s of the bytes are sent again", pct(v.retrans))
	case model.RateFitsLoss:
		want := s.sentResponse()
		if !known(want) || s.modelBased() {
			return signal{}
		}
		return s.reads(v.rate <= aboveResponse*want && v.rate >= belowResponse*want, "so many losses allow %s", bits(want))
	case model.NoSACK:
		return s.reads(v.last.Options != 0 && v.last.Options&optSACK == 0 && (v.retrans > lossFloor || v.rtos > 0), "%s of the bytes are sent again on a connection without SACK", pct(v.retrans))
	case model.NeedlessResent:
		if v.copied() {
			return signal{there, pct(v.copies) + " of the segments arrive twice without being sent twice"}
		}
		return s.reads(v.late(), "%s of the retransmitted segments had arrived after all", pct(ratio(v.dsacks, v.resent)))
	case model.SegmentsSmall:
		full := s.c.link.Inputs.InUse > 0 && s.total >= atCeiling*s.inUse()
		return s.reads(full, "the path is full with segments of %d bytes", v.last.SndMSS)
	case model.LargeFail:
		return s.reads(v.stalled(s.shrunk()) || seeProbed(s) != nil, "full-sized segments are sent again and not acknowledged")
	}
	return signal{}
}

// queuesAtTimes: a model-based sender that fills a link sees its queue when it probes.
func (s *scene) queuesAtTimes() bool { return s.snd.queueTop >= standingQueue }

func (s *scene) readWriter() signal {
	v := s.sender
	if v == nil || !known(v.run) && !known(v.throttled) {
		return signal{}
	}
	return s.reads(v.starvedWriter(), "the writer runs short of CPU: on one %s of the time, waiting for one %s", pct(v.run), pct(v.wait))
}

func (s *scene) readReader() signal {
	v := s.reader
	switch {
	case v == nil:
		return signal{}
	case v.starvedReader() || v.run >= ownCPU && v.kernel >= kernelWork:
		return signal{there, fmt.Sprintf("the reader runs short of CPU: on one %s of the time, waiting for one %s", pct(v.run), pct(v.wait))}
	case v.noCoreLeft():
		return signal{there, fmt.Sprintf("no core of %s has time left", v.end.Host)}
	case !known(v.run) && !known(v.throttled):
		return signal{}
	}
	return signal{sight: notThere}
}

// noCoreLeft: nothing has a core to itself on this host.
func (v *hostView) noCoreLeft() bool {
	p := v.packets
	return !known(v.run) && v.busy >= noTimeLeft && (v.least >= noTimeLeft || v.kernel >= kernelWork) ||
		p.took >= oneCore && p.softirq >= softirqFull && p.full >= coreAtEnd && p.idle >= idleCore
}

func (s *scene) readCores() signal {
	for _, v := range []*hostView{s.sender, s.reader} {
		if known(v.packetPressure()) {
			return signal{there, fmt.Sprintf("core %d of %s is busy %s of the time, %s of it in the kernel", v.core, v.end.Host, pct(v.busy), pct(v.kernel))}
		}
	}
	if s.sender == nil && s.reader == nil {
		return signal{}
	}
	return signal{sight: notThere}
}
