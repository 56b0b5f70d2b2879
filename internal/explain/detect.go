package explain

import "linerate/internal/model"

// detector names one limiter from one signature. see returns nil when the
// signature is not there; it never guesses from a feature that is unknown.
type detector struct {
	name string
	kind signature
	see  func(*scene) *finding
}

// signature is what a detector goes by.
type signature int

const (
	// own: the limiter itself is seen (a window that is full). Only such a
	// limiter is worth naming as the next one.
	own signature = iota
	// rest: what remains when nothing else is seen (a path that carries no more).
	rest
	// calls: how the requests to a mount, share or disk fare. These detectors are
	// asked once, after the connections have voted, and see whom they elected.
	calls
	// stages: how the stages of our own copy fare. Asked last, likewise.
	stages
)

// detectors in the order they are asked; the first that fires names the
// limiter. The order follows what masks what: a stalled path hides
// everything; a task without CPU makes windows, queues and sockets look
// limited; a full window or buffer hides the path behind it; and what the
// path itself does is judged last, when nothing at the ends explains the rate.
// The calls come after the vote: what the connections elected either stands
// beside them or is no more than their effect.
// Thresholds are those that separated 43 recorded faults under two congestion
// controls (testdata/recordings).
func detectors() []detector {
	return []detector{
		{"stalled", own, seeStalled},
		{"small MTU", own, seeSmallMTU},
		{"small segments", own, seeSmallSegments},
		{"at the ceiling", own, seeCeiling},
		{"MTU probed", own, seeProbed},
		{"start-up", own, seeStartUp},
		{"packet cost", own, seePacketCost},
		{"all packets on one core", own, seeOneCore},
		{"sender CPU", own, seeSenderCPU},
		{"receiver CPU", own, seeReceiverCPU},
		{"no CPU left, sender unseen", own, seeFullCoreAlone},
		{"memory for TCP", own, seeMemory},
		{"window scaling", own, seeNoScaling},
		{"slow reader", own, seeSlowReader},
		{"receive buffer", own, seeReceiveBuffer},
		{"receive buffer, sender unseen", own, seeReceiveBufferAlone},
		{"send buffer", own, seeSendBuffer},
		{"slow source", own, seeSlowSource},
		{"pacing", own, seePacing},
		{"local qdisc", own, seeQdisc},
		{"flow control", own, seePaused},
		{"packet cost, core not full", rest, seePacketCostLikely},
		{"SACK off", own, seeSACKOff},
		{"copies", own, seeCopies},
		{"reordering", own, seeReordering},
		{"policed or shallow queue", rest, seePoliced},
		{"slow link", rest, seeSlowLink},
		{"slow link, sender unseen", rest, seeSlowLinkAlone},
		{"congestion control", own, seeControl},
		{"loss", rest, seeLoss},
		{"loss, sender unseen", rest, seeLossAlone},
		{"undetermined", rest, seeNothing},
		{"small calls", calls, seeSmallCalls},
		{"limiter that no call explains", calls, seeBeyondCalls},
		{"few calls asked for", calls, seeFewCalls},
		{"calls in turn, server unseen", calls, seeCallsInTurn},
		{"room in the window for all calls", calls, seeRoomForCalls},
		{"server without CPU", calls, seeBusyServer},
		{"limiter beside the calls", calls, seeBesideCalls},
		{"time of a call", calls, seeCallTime},
		{"rate that was asked for", stages, seeCopyLimit},
		{"sender's process without CPU", stages, seeCopySenderCPU},
		{"receiver's process without CPU", stages, seeCopyReceiverCPU},
		{"target of a copy", stages, seeCopyTarget},
		{"source of a copy", stages, seeCopySource},
	}
}

// diagnose asks the detectors of connections in order and returns the first
// finding and the next one with its own signature that names another limiter, if
// any.
func diagnose(s *scene) (first, next *finding) {
	for _, d := range detectors() {
		if d.kind == calls || d.kind == stages || first != nil && d.kind != own {
			continue
		}
		f := d.see(s)
		switch {
		case f == nil || s.c.unknowing(f.id):
		case first != nil && f.id != first.id:
			return first, f
		case first == nil:
			first = f
			if f.id == model.None || f.id == model.StartUp || f.id == model.Outage || f.id == model.MTUBlackhole {
				return first, nil
			}
		}
	}
	return first, nil
}

// diagnoseAfter asks the detectors of calls, or of stages, in order; nil: none has a say.
func diagnoseAfter(kind signature, s *scene) *finding {
	for _, d := range detectors() {
		if d.kind != kind {
			continue
		}
		if f := d.see(s); f != nil && !s.c.unknowing(f.id) {
			return f
		}
	}
	return nil
}
