package explain

import "linerate/internal/model"

// detector names one limiter from one signature. see returns nil when the
// signature is not there; it never guesses from a feature that is unknown.
type detector struct {
	name string
	// own: the signature is the limiter's own, seen directly (a window that
	// is full), rather than what remains when nothing else is seen (a path
	// that just carries no more). Only an own signature is worth naming as
	// the next limiter.
	own bool
	see func(*scene) *finding
}

// detectors in the order they are asked; the first that fires names the
// limiter. The order follows what masks what: a stalled path hides
// everything; a task without CPU makes windows, queues and sockets look
// limited; a full window or buffer hides the path behind it; and what the
// path itself does is judged last, when nothing at the ends explains the rate.
// Thresholds are those that separated 43 recorded faults under two congestion
// controls (testdata/recordings).
func detectors() []detector {
	return []detector{
		{"stalled", true, seeStalled},
		{"small MTU", true, seeSmallMTU},
		{"at the ceiling", true, seeCeiling},
		{"MTU probed", true, seeProbed},
		{"start-up", true, seeStartUp},
		{"packet cost", true, seePacketCost},
		{"all packets on one core", true, seeOneCore},
		{"sender CPU", true, seeSenderCPU},
		{"receiver CPU", true, seeReceiverCPU},
		{"no CPU left, sender unseen", true, seeFullCoreAlone},
		{"window scaling", true, seeNoScaling},
		{"slow reader", true, seeSlowReader},
		{"receive buffer", true, seeReceiveBuffer},
		{"receive buffer, sender unseen", true, seeReceiveBufferAlone},
		{"send buffer", true, seeSendBuffer},
		{"slow source", true, seeSlowSource},
		{"pacing", true, seePacing},
		{"local qdisc", true, seeQdisc},
		{"flow control", true, seePaused},
		{"packet cost, core not full", false, seePacketCostLikely},
		{"SACK off", true, seeSACKOff},
		{"reordering", true, seeReordering},
		{"policed or shallow queue", false, seePoliced},
		{"slow link", false, seeSlowLink},
		{"slow link, sender unseen", false, seeSlowLinkAlone},
		{"congestion control", true, seeControl},
		{"loss", false, seeLoss},
		{"loss, sender unseen", false, seeLossAlone},
		{"undetermined", false, seeNothing},
	}
}

// diagnose asks the detectors in order and returns the first finding and the
// next one with its own signature that names another limiter, if any.
func diagnose(s *scene) (*finding, *finding) {
	var first *finding
	for _, d := range detectors() {
		f := d.see(s)
		switch {
		case f == nil:
		case first == nil:
			first = f
			if f.id == model.None || f.id == model.StartUp || f.id == model.Outage || f.id == model.MTUBlackhole {
				return first, nil
			}
		case d.own && f.id != first.id:
			return first, f
		}
	}
	return first, nil
}
