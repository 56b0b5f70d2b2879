package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// The account: where the goodput went that the ceiling allows and the path did not
// carry. Each stretch between two samples of a connection is missing so many bytes of
// its fair share of the ceiling, and at that moment the connection was in one state:
// its window full, nothing to send, and so on. A limiter explains the states that it
// causes. What is left over is not explained, and a verdict that leaves too much of it
// is not to be believed.

const (
	// closes: this share of what is missing has to be explained.
	closes = 0.85
	// openCap is the most confidence in a verdict whose account does not close.
	openCap = 0.5
	// queueMoment: in a recording with a queue in the path, a single sample counts as queued from
	// this ratio of its round trip to the minimum on.
	queueMoment = 1.05
	// resumes is for how many round trips a sender that had nothing to send is short of
	// congestion window, which is cut while it is not used (RFC 7661, RFC 9293).
	resumes = 10
)

// state is what a connection was in between two samples.
type state int

const (
	inFlight state = iota // and none of the others
	stalledState
	unreadState
	windowState
	bufferState
	sourceState
	pacedState
	queueState
	congestionState
	resumeState
)

// stateWords are the states in the order in which an account lists equals.
func stateWords() map[state]string {
	return map[state]string{
		inFlight:        "data is in flight and nothing is seen to hold it",
		stalledState:    "segments are sent again and nothing is acknowledged",
		unreadState:     "received data waits to be read",
		windowState:     "the receive window is full",
		bufferState:     "the send buffer is full",
		sourceState:     "nothing waits to be sent",
		pacedState:      "the socket's maximum pacing rate is reached",
		queueState:      "the congestion window is full and a queue stands in the path",
		congestionState: "the congestion window is full and no queue stands",
		resumeState:     "the sender picks up again after it had nothing to send",
	}
}

// causes lists the states that a limiter causes.
func causes(id model.LimiterID) []state {
	switch id {
	case model.ReceiverWindow:
		return []state{windowState}
	case model.SendBuffer:
		return []state{bufferState}
	case model.ApplicationSource, model.SenderCPU, model.SourceStorage:
		return []state{sourceState, resumeState}
	case model.TargetStorage, model.SmallFiles: // while files are made durable nothing is sent
		return []state{unreadState, windowState, sourceState, resumeState}
	case model.ApplicationSink:
		return []state{unreadState, windowState}
	case model.ReceiverCPU:
		return []state{unreadState, windowState, queueState, congestionState, inFlight, stalledState}
	case model.Pacing:
		return []state{pacedState}
	case model.LinkRate:
		return []state{queueState}
	case model.PathLoss, model.CongestionControl:
		return []state{congestionState, stalledState}
	case model.PathQueue, model.LocalQdisc, model.FlowControl, model.MTUBlackhole, model.Outage:
		return []state{congestionState, queueState, stalledState, inFlight}
	case model.TCPMemory:
		return []state{unreadState, windowState, bufferState, queueState, congestionState, inFlight, stalledState}
	case model.SmallSegments:
		return []state{queueState, congestionState, inFlight}
	case model.SACKOff, model.Reordering: // what is received out of order fills the window
		return []state{congestionState, queueState, stalledState, inFlight, windowState, unreadState}
	case model.PacketCost:
		return []state{sourceState, resumeState, congestionState, queueState, inFlight, bufferState, stalledState, unreadState}
	case model.StartUp:
		return []state{congestionState, inFlight, sourceState}
	}
	return nil
}

// account is what is missing below the ceiling, split by state. It is nil where no
// ceiling is known, where the path is at it, and where no sending end was seen.
func (v *views) account(named model.Verdict) *model.Account {
	if v.link.Rate == nil || len(v.scenes) == 0 {
		return nil
	}
	missing := float64(*v.link.Rate) - v.goodput
	if !(missing > (1-belowCeiling)*float64(*v.link.Rate)) {
		return nil
	}
	lost := map[state]float64{}
	all := 0.0
	for _, s := range v.scenes {
		if s.snd == nil || s.from() == model.FromNettop { // what is in flight was not shown
			return nil
		}
		for st, bits := range s.missed() {
			lost[st] += bits
			all += bits
		}
	}
	if !(all > 0) {
		return nil
	}
	words := stateWords()
	var parts []model.AccountPart
	for _, st := range sortedStates(lost) {
		parts = append(parts, model.AccountPart{What: words[st], Rate: unit.BitRate(missing * (lost[st] / all)), Limiter: explainedBy(named, st)})
	}
	return balanced(missing, parts)
}

// balanced sums up what no limiter explains.
func balanced(missing float64, parts []model.AccountPart) *model.Account {
	a := &model.Account{Missing: unit.BitRate(missing), Parts: parts}
	for _, p := range parts {
		if p.Limiter == "" {
			a.Unexplained += p.Rate
		}
	}
	a.Closes = float64(a.Unexplained) <= (1-closes)*missing
	return a
}

// sortedStates are the states by what is missing in them, most first.
func sortedStates(lost map[state]float64) []state {
	out := make([]state, 0, len(lost))
	for st := range lost {
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b state) int { return cmp.Or(cmp.Compare(lost[b], lost[a]), cmp.Compare(a, b)) })
	return out
}

// explainedBy is the limiter among those found that causes the state; empty: none.
func explainedBy(v model.Verdict, st state) model.LimiterID {
	if slices.Contains(causes(v.Limiter), st) {
		return v.Limiter
	}
	for _, c := range v.Causes {
		if slices.Contains(causes(c.Limiter), st) {
			return c.Limiter
		}
	}
	return ""
}

// missed is how many bits of the flow's fair share of the ceiling did not pass, by the
// state in which it was.
func (s *scene) missed() map[state]float64 {
	os, out := within(s.flow.snd, s.span), map[state]float64{}
	fair := s.ceiling / s.c.streams()
	queued := s.queues() || s.modelBased() && s.queuesAtTimes()
	var dry time.Duration // when there was nothing to send last
	ever := false
	for i := 1; i < len(os); i++ {
		a, b := os[i-1], os[i]
		st := s.stateOf(a, b, queued)
		switch {
		case st == sourceState:
			dry, ever = b.at, true
		case ever && b.at-dry <= resumes*s.minRTT+(b.at-a.at) && (st == congestionState || st == queueState || st == inFlight):
			st = resumeState
		}
		dt := (b.at - a.at).Seconds()
		if gap := fair*dt - 8*float64(b.c.BytesAcked-a.c.BytesAcked); gap > 0 && known(gap) {
			out[st] += gap
		}
	}
	return out
}

// stateOf is the state between two samples, by the second one. What hides another
// comes first: a stall hides everything, a full window or buffer the path.
func (s *scene) stateOf(a, b obs, queued bool) state {
	c := b.c
	dt, two := b.at-a.at, 2*int64(max(c.SndMSS, 1))
	flight := ratio(float64(c.Unacked), float64(c.Cwnd))
	deep := ratio(c.RTT.Seconds(), s.minRTT.Seconds())
	behindOf := func(held float64) bool {
		return deep >= queuedPath && queued && !s.ownBurst(held, (c.RTT-s.minRTT).Seconds(), swing(c, s.minRTT))
	}
	behindWindow, behindBuffer := behindOf(sndWnd(b)), behindOf(float64(max(c.SndBuf, c.WmemQueued)))
	chrono := func(x, y int64, least float64) bool {
		return has(c, infoChrono) && float64(y-x) >= least*float64(dt)
	}
	least := congestionFull
	if s.modelBased() {
		least = modelFull
	}
	switch {
	case c.BytesAcked == a.c.BytesAcked && c.Unacked > 0 && (c.Backoff > 0 || c.CAState == caLoss):
		return stalledState
	case s.unreadAt(b):
		return unreadState
	case !behindWindow && (float64(c.Unacked)*float64(c.SndMSS) >= windowFull*sndWnd(b) || chrono(int64(a.c.RwndLimited), int64(c.RwndLimited), rwndShare)):
		return windowState
	case !behindBuffer && (s.bufferIsFull() && c.NotSent < two && float64(c.SendQ) >= bufferFull*float64(c.SndBuf) || chrono(int64(a.c.SndbufLimited), int64(c.SndbufLimited), sndbufShare)):
		return bufferState
	case c.NotSent < two && (flight < 0.9 || c.AppLimited):
		return sourceState
	case c.MaxPacing > 0 && 8*float64(c.BytesAcked-a.c.BytesAcked) >= pacedShare*float64(c.MaxPacing)*dt.Seconds():
		return pacedState
	case queued && (deep >= queueMoment || s.modelBased()) && (flight >= least || behindWindow && behindBuffer):
		return queueState
	case flight >= least:
		return congestionState
	}
	return inFlight
}

// unreadAt: at about that moment received data waited for the reader.
func (s *scene) unreadAt(b obs) bool {
	best, found := obs{}, false
	for _, o := range s.flow.rcv {
		if !found || math.Abs(float64(o.at-b.at)) < math.Abs(float64(best.at-b.at)) {
			best, found = o, true
		}
	}
	return found && ratio(float64(best.c.RecvQ), float64(best.c.RecvQ)+rcvWnd(best)) >= queuedShare
}

// balance adds the account to a verdict, and caps one whose account does not close. Near the
// ceiling little is missing; a limiter that is named there was recognised by another sign.
func (v *views) balance(out *model.Verdict) {
	if out.Account == nil { // the calls of a mount have one of their own
		out.Account = v.account(*out)
	}
	a := out.Account
	near := v.link.Rate != nil && v.goodput >= atCeiling*float64(*v.link.Rate)
	if a == nil || a.Closes || near || claimsNothing(out.Limiter) {
		return
	}
	left := pct(float64(a.Unexplained) / float64(a.Missing))
	out.Confidence = min(out.Confidence, openCap)
	out.Notes = append(out.Notes, fmt.Sprintf("%s of what is missing (%s) is not explained by what was found, so the confidence is at most %s", left, a.Unexplained, pct(openCap)))
}
