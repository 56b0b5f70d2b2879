package explain

import (
	"fmt"
	"math"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// A limit of each single connection hides a limit that all of them share: a link that
// is too slow, a core that is too busy. Several connections at once reach that one.

const (
	// severalMost is how many connections the probe takes at most.
	severalMost = 16
	// severalBeyond: so many connections run that, each at its rate of before, they
	// would carry this many times the ceiling.
	severalBeyond = 1.3
	// severalMore: what they reach must be that much above the one run before;
	// two runs of a path differ by up to a tenth.
	severalMore = 1.15
	// severalQueue: at a round trip of this many times the shortest one, the
	// connections wait in a queue.
	severalQueue = 1.5
	// severalSureOfLink caps the confidence in a slow link: a busy core that all
	// packets pass looks the same.
	severalSureOfLink = 0.65
	// severalSure is the least confidence in the probe's own verdict.
	severalSure = 0.5
)

// Several is the run of the probe with several connections.
type Several struct {
	Streams int
	Before  unit.BitRate // goodput of the run that was judged
	Each    unit.BitRate // of one of its connections
}

// PlanSeveral plans the probe for a verdict that names a limit of each
// connection by itself. streams is how many there were.
func PlanSeveral(v model.Verdict, streams int) (Several, bool) {
	switch v.Limiter {
	case model.ReceiverWindow, model.SendBuffer, model.Pacing:
	default:
		return Several{}, false
	}
	if v.Ceiling == nil || v.Measured <= 0 || streams < 1 || streams >= severalMost {
		return Several{}, false
	}
	each := float64(v.Measured) / float64(streams)
	n := math.Ceil(severalBeyond * float64(*v.Ceiling) / each)
	p := Several{Streams: int(min(n, severalMost)), Before: v.Measured, Each: unit.BitRate(each)}
	return p, p.Streams > streams
}

// Seen is the probe once it has run: c is what was seen of the connections. A limiter
// that they share binds next, at the goodput that they reached. Where they fill the
// link, the ceiling is next.
func (p Several) Seen(c Case) Trial {
	return func(v model.Verdict) model.Verdict { return p.after(v, c) }
}

func (p Several) after(v model.Verdict, c Case) model.Verdict {
	next := Judge(c)
	if len(v.Causes) == 0 || next.Ceiling == nil || !(float64(next.Measured) >= severalMore*float64(p.Before)) {
		return v
	}
	how := fmt.Sprintf("%d connections at once reach %s", p.Streams, next.Measured)
	switch {
	case next.Limiter == model.None:
		v.NextLimit = &model.NextLimit{Limiter: model.None, At: *next.Ceiling, Why: how}
		return v
	case p.queues(next, c):
		next = sharedLink(next, c, how)
	case claimsNothing(next.Limiter), next.Limiter == v.Limiter, next.Confidence < severalSure, followsFrom(v.Limiter, next.Limiter):
		return v
	}
	most := max(0, *next.Ceiling-next.Measured)
	found := model.Cause{
		Limiter: next.Limiter, Where: next.Where, Host: next.Host, Confidence: next.Confidence, Fix: next.Fix, GainLow: new(unit.BitRate), GainHigh: &most,
		Evidence: append([]model.Evidence{{What: how, Metric: "several_connections", Value: float64(next.Measured), Unit: "bit/s", Host: c.Sender.host(), N: len(c.Sender.Samples)}}, next.Evidence...),
	}
	return withCause(v, found, next.Measured, how)
}

// queues: together the connections carry much less than the sum of what each would
// carry, and their round trips show that they wait for each other. The verdict on this
// run may still name the limit of each single connection, or nothing.
func (p Several) queues(next model.Verdict, c Case) bool {
	alone := float64(p.Streams) * float64(p.Each)
	switch next.Limiter {
	case model.Undetermined, model.StartUp, model.ReceiverWindow, model.SendBuffer, model.PathLoss: // losses of a queue that overflows
	default:
		return false
	}
	if !(float64(next.Measured) < refuted*min(alone, float64(*next.Ceiling))) {
		return false
	}
	var queue []float64
	for _, s := range look(c).scenes {
		if s.snd != nil {
			queue = append(queue, s.snd.queue)
		}
	}
	return lowerMedian(queue) >= severalQueue
}

// sharedLink is the verdict on connections that queue for the same link.
func sharedLink(next model.Verdict, c Case, how string) model.Verdict {
	e := finding{}
	e.say(c.Sender.host(), "several_queue", float64(next.Measured), "bit/s", len(c.Sender.Samples), "%s, less than each by itself would add up to, and wait for each other on the way", how)
	next.Limiter, next.Where, next.Host, next.Confidence, next.Evidence = model.LinkRate, limiter(model.LinkRate).Where, "", severalSureOfLink, e.evidence
	next.Fix = operator("", slowLinkAdvice(math.NaN(), float64(next.Measured)))
	return next
}

// withCause adds a cause that binds from the goodput at on. It replaces a forecast of
// the same limiter.
func withCause(v model.Verdict, found model.Cause, at unit.BitRate, how string) model.Verdict {
	rest := slices.DeleteFunc(slices.Clone(v.Causes[1:]), func(x model.Cause) bool { return x.Limiter == found.Limiter })
	place := len(rest)
	if n := v.NextLimit; n == nil || n.At >= at || n.Limiter == found.Limiter {
		place = 0
		v.NextLimit = &model.NextLimit{Limiter: found.Limiter, Host: found.Host, At: at, Why: how}
	}
	if g := v.ExpectedGain; place == 0 && g != nil && at < g.High {
		now := *g
		now.Low, now.High = max(v.Measured, min(now.Low, at)), max(v.Measured, at)
		now.Why += fmt.Sprintf("; %s binds at %s", found.Limiter, at)
		v.ExpectedGain = &now
	}
	v.Causes = append([]model.Cause{v.Causes[0]}, slices.Insert(rest, place, found)...)
	first := firstCause(&v, float64(v.Measured))
	v.Causes[0].GainLow, v.Causes[0].GainHigh = first.GainLow, first.GainHigh
	return v
}
