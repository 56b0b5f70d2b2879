package explain

import (
	"fmt"
	"math"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// pacedProbe tells random losses from those of an overflowing queue or a policer: at
// the mean rate that the path carried before, and without bursts, neither of those
// drops anything.
const pacedProbe = "send at the same rate, evenly paced: losses that stay are random, losses that go come from a policer or a shallow queue"

const (
	// pacedShare of the goodput is what the probe sends.
	pacedRun = 0.9
	// expectLosses: a probe runs until it would meet this many random losses. That
	// it meets none of them by chance happens once in 3000 times.
	expectLosses = 8
	// lossesStay and lossesGo: random losses are proved from the first share of the
	// expected ones on, a policer or a shallow queue below the second.
	lossesStay = 0.35
	lossesGo   = 0.1
	// leastBursts is how many bursts of losses a probe must have had to meet before it
	// says that they are gone: that it meets none of three by chance happens once in 20
	// times.
	leastBursts = 3
	// A probe gives the window time to settle, and does not keep the operator
	// waiting for long.
	shortestProbe = 2 * time.Second
	longestProbe  = 8 * time.Second
	probeWarmup   = time.Second / 2
	// Linux sends what a connection that is paced may send in this time at once, up to 64 KiB
	// (sk_pacing_shift and tcp_tso_autosize, net/ipv4/tcp_output.c): a queue that is shorter
	// drops of that too. Up to pacedEven a connection sends some 4 segments at once.
	pacedTick   = 1.0 / 1024 // seconds
	pacedAtMost = 64 << 10   // bytes
	pacedEven   = 50e6       // bit/s
	pacedMost   = 16         // connections
	// settled is the confidence in a limiter once a probe has excluded the other.
	settled = 0.9
	// settledBelow is the same where the probe ran below half of the ceiling and met no
	// losses: then all that is known is that they come with a higher rate or with
	// bursts, which a host that drops its own packets shows, too.
	settledBelow = 0.75
)

// LongestPaced is the most time that the paced probe takes, for whoever is asked to
// allow the load.
func LongestPaced() time.Duration { return longestProbe + probeWarmup }

// Paced is the run that the paced probe takes.
type Paced struct {
	Streams  int
	Rate     unit.BitRate // per stream
	Duration time.Duration
	Warmup   time.Duration
	Share    float64 // of the segments, lost before
	Burst    float64 // segments lost at once before, at least 1
	// Quiet is the longest time without losses before, while data moved.
	Quiet time.Duration
}

// PlanPaced plans the paced probe for a verdict that asks for one. There is no
// plan where so few losses are to be expected that it would take too long.
func PlanPaced(c Case, v model.Verdict) (Paced, bool) {
	if v.Probe == nil || v.Probe.Do != pacedProbe {
		return Paced{}, false
	}
	p := Paced{Warmup: probeWarmup, Burst: 1}
	lost, sent, streams := 0.0, 0.0, 0 // segments a second
	for _, s := range look(c).scenes {
		if s.snd == nil || s.mss() == 0 {
			continue
		}
		streams++
		perSecond := pacedRun * s.snd.rate / 8 / float64(s.mss())
		lost, sent = lost+perSecond*s.snd.retrans, sent+perSecond
		p.Rate += unit.BitRate(pacedRun * s.snd.rate)
		if d := s.snd.dispersion; d > p.Burst {
			p.Burst = d
		}
		if q := quietest(s.flow.snd); s.snd.resent > 0 && (p.Quiet == 0 || q < p.Quiet) {
			p.Quiet = q
		}
	}
	if !(lost > 0) {
		return Paced{}, false
	}
	// More connections, each slower, send shorter bursts.
	p.Streams = max(streams, int(min(pacedMost, math.Ceil(float64(p.Rate)/pacedEven))))
	p.Rate /= unit.BitRate(p.Streams)
	seconds := max(expectLosses/lost, shortestProbe.Seconds())
	if seconds > longestProbe.Seconds() {
		return Paced{}, false
	}
	// Losses that come many at a time need longer; what that lacks in the end is said.
	seconds = min(longestProbe.Seconds(), max(seconds, 1.1*leastBursts*p.Burst/lost))
	p.Duration = time.Duration(seconds*float64(time.Second)) + p.Warmup
	p.Share = lost / sent
	return p, true
}

// quietest is the longest time in which a connection moved data and sent nothing again.
func quietest(os []obs) (most time.Duration) {
	first, last := busyRange(os, func(c *model.Conn) int64 { return c.BytesAcked })
	for from, i := first, first+1; i <= last; i++ {
		if os[i].c.TotalRetrans > os[i-1].c.TotalRetrans {
			from = i
		}
		most = max(most, os[i].at-os[from].at)
	}
	return most
}

// Seen is the paced probe once it has run: c is what was seen of it. A probe that does
// not decide adds a note and changes nothing.
func (p Paced) Seen(c Case) Trial {
	return func(v model.Verdict) model.Verdict { return p.after(v, c) }
}

func (p Paced) after(v model.Verdict, c Case) model.Verdict {
	lost, expect, moved, n := 0.0, 0.0, 0.0, 0
	together, sent := 0.0, 0.0 // segments: lost at a time, and sent at once
	for _, s := range look(c).scenes {
		if s.snd == nil || s.mss() == 0 {
			continue
		}
		lost += s.snd.resent
		expect += p.Share * s.snd.acked / float64(s.mss())
		moved, n = moved+s.snd.rate, n+s.n()
		together = math.Max(together, s.snd.dispersion)
		sent = math.Max(sent, min(pacedAtMost, float64(p.Rate)/8*pacedTick)/float64(s.mss()))
	}
	from := ratio(lost, expect)
	e := finding{}
	host := c.Sender.host()
	switch asked := float64(p.Rate) * float64(p.Streams); {
	case !(moved >= 0.8*asked) || !(expect >= expectLosses/2):
		v.Notes = append(v.Notes, fmt.Sprintf("the paced probe reached only %s of %s and settles nothing", bits(moved), bits(asked)))
	case from >= lossesStay && together >= burstLeast && sent >= burstLeast:
		v.Notes = append(v.Notes, fmt.Sprintf("the paced probe settles nothing: losses stay, some %.0f at a time, but the host sends up to %.0f segments at once even when it paces, and a shorter queue drops some of those too", together, sent))
	case from >= lossesStay:
		e.say(host, "paced_losses", from, "ratio", n, "evenly paced at %s, losses stay (%.0f where %.0f were to be expected): bursts do not cause them", bits(asked), lost, expect)
		v = settle(v, model.PathLoss, model.PathQueue, e.evidence, settles(v, settled))
	case from <= lossesGo && expect < leastBursts*p.Burst:
		v.Notes = append(v.Notes, fmt.Sprintf("the paced probe settles nothing: losses come about %.0f at a time, so that it may have met none of them by chance", p.Burst))
	case from <= lossesGo && p.Quiet >= p.Duration/2:
		v.Notes = append(v.Notes, fmt.Sprintf("the paced probe settles nothing: before it, too, nothing was lost for %s, so that losses that come and go may have paused", seconds(p.Quiet.Seconds())))
	case from <= lossesGo:
		e.say(host, "paced_losses", from, "ratio", n, "evenly paced at %s, losses go (%.0f where %.0f were to be expected): a policer or a shallow queue drops bursts", bits(asked), lost, expect)
		sure := settled
		if v.Ceiling != nil && moved < float64(*v.Ceiling)/2 {
			sure = settledBelow
		}
		v = settle(v, model.PathQueue, model.PathLoss, e.evidence, settles(v, sure))
	default:
		v.Notes = append(v.Notes, fmt.Sprintf("the paced probe settles nothing: %.0f losses where %.0f were to be expected of random ones", lost, expect))
	}
	return v
}

// settle makes id the limiter and drops the one that it was told from.
func settle(v model.Verdict, id, not model.LimiterID, evidence []model.Evidence, sure float64) model.Verdict {
	v.Evidence = append(slices.Clone(evidence), v.Evidence...)
	v.Alternatives = slices.DeleteFunc(slices.Clone(v.Alternatives), func(a model.Alternative) bool { return a.Limiter == not || a.Limiter == id })
	v.Probe = probeFor(&v)
	if v.Limiter != id {
		v.Confidence = 0 // it was in the other one
		v.Limiter, v.Where, v.Host = id, limiter(id).Where, ""
		v.Fix = operator("", adviceFor(nil, &finding{id: id})) // of losses: they need no scene
	}
	v.Confidence = max(v.Confidence, sure)
	v.Account = renamed(v.Account, not, id)
	if len(v.Causes) > 0 {
		first := firstCause(&v, float64(v.Measured))
		v.Causes = append([]model.Cause{first}, slices.DeleteFunc(slices.Clone(v.Causes[1:]), func(c model.Cause) bool { return c.Limiter == id || c.Limiter == not })...)
	}
	return v
}

// renamed is the account with another limiter for what the first explained.
func renamed(a *model.Account, not, id model.LimiterID) *model.Account {
	if a == nil {
		return nil
	}
	out := *a
	out.Parts = slices.Clone(a.Parts)
	for i := range out.Parts {
		if out.Parts[i].Limiter == not {
			out.Parts[i].Limiter = id
		}
	}
	return &out
}

// settles is how sure losses make that the paced probe told from each other: no surer
// than what contradicts them, or what neither explains, allows.
func settles(v model.Verdict, sure float64) float64 {
	switch {
	case len(v.Contradictions) > 0:
		return contradictedCap
	case v.Account != nil && !v.Account.Closes:
		return openCap
	}
	return sure
}
