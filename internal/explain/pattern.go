package explain

import (
	"math"

	"linerate/internal/model"
)

// pattern is how retransmissions come, which hints at what loses segments.
type pattern string

const (
	patternUnknown    pattern = ""
	patternRandom     pattern = "random"
	patternBursty     pattern = "bursty"
	patternTail       pattern = "tail"
	patternPoliced    pattern = "policed"
	patternReordering pattern = "reordering"
	patternSpurious   pattern = "spurious"
)

const (
	// needlessShare of the retransmitted segments had arrived after all (DSACK,
	// RFC 2883); reorderingEvents make reordering the reason.
	needlessShare    = 0.3
	spuriousShare    = 0.5
	reorderingEvents = 50
	spuriousEvents   = 10
	// Losses that only the timer finds, on a connection with nothing left to
	// send: the last segments of what was written (RFC 8985, section 1).
	tailTimeouts = 0.5
	tailDry      = 0.3
	// A policer drops what exceeds its rate, nearly all the time, while no queue
	// stands and the rate stays put (Flach et al., SIGCOMM 2016, section 3).
	policedShare   = 0.02
	policedSamples = 0.8
	policedQueue   = 1.15
	// Dispersion of the retransmissions over what was sent: 1 is what random
	// losses have (Poisson); bursts of n segments have about n. Random losses came to 0.8
	// to 1.7 in recordings, those of overflowing queues and policers to 2.5 and more.
	evenMost   = 2
	burstLeast = 6
)

// pattern names how the flow's retransmissions come; unknown below three
// segments, and where neither even nor in bursts is plain.
func (s *scene) pattern() pattern {
	v := s.snd
	if v == nil || !(v.resent >= lateEvents) {
		return patternUnknown
	}
	needless := ratio(v.dsacks, v.resent)
	switch {
	case needless >= needlessShare && v.reordSeen >= reorderingEvents:
		return patternReordering
	case needless >= spuriousShare:
		return patternSpurious
	case v.rtos >= tailTimeouts*v.losses && v.dry >= tailDry:
		return patternTail
	case v.retrans >= policedShare && v.queue < policedQueue && v.losses >= policedSamples*float64(v.n-1) && v.spread <= steadyRate:
		return patternPoliced
	case v.dispersion <= evenMost && v.losses >= lateEvents:
		return patternRandom
	case v.dispersion >= burstLeast:
		return patternBursty
	}
	return patternUnknown
}

// patternEvidence words it.
func (f *finding) patternEvidence(s *scene) {
	v, h := s.snd, s.c.Sender.host()
	switch s.pattern() {
	case patternReordering:
		f.say(h, "retransmit_pattern", ratio(v.dsacks, v.resent), "ratio", v.n, "pattern: reordering; %s of the retransmitted segments had arrived, late", pct(ratio(v.dsacks, v.resent)))
	case patternSpurious:
		f.say(h, "retransmit_pattern", ratio(v.dsacks, v.resent), "ratio", v.n, "pattern: spurious; %s of the retransmitted segments had arrived, so the sender gives up on them too soon", pct(ratio(v.dsacks, v.resent)))
	case patternTail:
		f.say(h, "retransmit_pattern", v.rtos, "timeouts", v.n, "pattern: tail; %.0f losses at the end of what was written are found by the timer alone", v.rtos)
	case patternPoliced:
		f.say(h, "retransmit_pattern", v.losses, "samples", v.n, "pattern: as of a policer; losses in nearly all samples, no queue, and a rate that stays put")
	case patternRandom:
		f.say(h, "dispersion_over_random", v.dispersion, "ratio", v.n, "pattern: even; losses come one by one, as random ones do (dispersion %.2g, exactly random ones have 1)", v.dispersion)
	case patternBursty:
		f.say(h, "dispersion_over_random", v.dispersion, "ratio", v.n, "pattern: bursts; losses come many at a time (dispersion %.3g, random ones have 1)", v.dispersion)
	}
}

// dispersion is the mean of (got − expected)² / expected over the stretches
// between samples, where a stretch is expected to retransmit the same share of
// what it sent as all do (the index of dispersion, generalised to stretches of
// unequal length; Cox and Lewis, The Statistical Analysis of Series of Events,
// 1966). Unknown below four stretches.
func dispersion(os []obs) float64 {
	sent, resent := 0.0, 0.0
	var out []float64
	step := func(i int) (n, k float64) {
		a, b := os[i-1].c, os[i].c
		return float64(max(0, b.SegsOut-a.SegsOut)), float64(max(0, b.TotalRetrans-a.TotalRetrans))
	}
	for i := 1; i < len(os); i++ {
		n, k := step(i)
		sent, resent = sent+n, resent+k
	}
	p := ratio(resent, sent)
	for i := 1; i < len(os); i++ {
		n, k := step(i)
		if e := n * p; e > 0 {
			out = append(out, (k-e)*(k-e)/e)
		}
	}
	if len(out) < 4 {
		return unknown()
	}
	sum := 0.0
	for _, x := range out {
		sum += x
	}
	if d := sum / float64(len(out)-1); !math.IsInf(d, 0) {
		return d
	}
	return unknown()
}

// tellsPattern are the limiters whose verdict says how retransmissions come.
func tellsPattern(id model.LimiterID) bool {
	switch id {
	case model.PathLoss, model.PathQueue, model.Reordering, model.SACKOff, model.CongestionControl, model.Undetermined:
		return true
	}
	return false
}
