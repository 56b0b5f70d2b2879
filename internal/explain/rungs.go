package explain

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

const (
	// rungsMore: one run carries more than another from this ratio on; two runs of a
	// path differ by up to a tenth.
	rungsMore = severalMore
	// rungsSame: up to this ratio they carry the same.
	rungsSame = 1.1
	// lameReverse: the other direction carries so small a part of this one that the
	// acknowledgments of this one may be what it cannot carry: they are 1/50 of the
	// data and more (RFC 9293: one for two full segments at least).
	lameReverse = 0.05
	// rungsCap is the most confidence in what another rung contradicts.
	rungsCap = contradictedCap
)

// weigh holds a verdict against the other rungs of the ladder. What they settle is
// evidence for it or contradicts it, and no probe is proposed that was made.
func weigh(v *model.Verdict, rungs map[string]unit.BitRate) {
	one, haveOne := rungs[RungStream]
	all, haveAll := rungs[RungStreams]
	back, haveBack := rungs[RungReverse]
	if claimsNothing(v.Limiter) && v.Limiter != model.Undetermined || !haveOne {
		return
	}
	idle := []string{}
	if haveAll && !weighStreams(v, one, all) {
		idle = append(idle, RungStreams)
	}
	if haveBack && !weighReverse(v, one, back) {
		idle = append(idle, RungReverse)
	}
	for _, name := range []string{RungMemory, RungLoopback, RungDisk, RungCached, RungRAM} {
		if rate, ran := rungs[name]; ran && !(name == RungLoopback && weighInside(v, one, rate)) {
			idle = append(idle, name)
		}
	}
	unused(v, rungs, idle)
}

// unused names the rungs that were measured and are neither for the verdict nor against it.
func unused(v *model.Verdict, rungs map[string]unit.BitRate, names []string) {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%s (%s)", name, rungs[name]))
	}
	if len(list) > 0 {
		v.Notes = append(v.Notes, "measured besides and without bearing on this verdict: "+strings.Join(list, ", "))
	}
}

// weighInside: TCP inside a host against one stream between the hosts. It tells whether it bears on
// the verdict.
func weighInside(v *model.Verdict, one, inside unit.BitRate) bool {
	if v.Where != model.AtPath || !slowInside(inside, one) {
		return false
	}
	contradict(v, fmt.Sprintf("inside one of the hosts, with no cable on the way, TCP reaches %s: what holds it back there need not be on the path", inside))
	return true
}

// weighStreams: several streams against one. It tells whether they bear on the verdict.
func weighStreams(v *model.Verdict, one, all unit.BitRate) bool {
	ran := fmt.Sprintf("one stream carried %s, several at once %s", one, all)
	known := model.Evidence{What: ran, Metric: "streams_ratio", Value: round(ratio(float64(all), float64(one))), Unit: "ratio"}
	same := all <= rungsSame*one && one <= rungsSame*all
	switch {
	case v.Limiter == model.LinkRate && all >= rungsMore*one:
		contradict(v, ran+": the path carries more than one stream gets, so no link is as slow as that")
	case v.Limiter == model.LinkRate && one >= rungsMore*all:
		contradict(v, ran+": a link carries as much for several as for one")
	case ownLimit(v.Limiter) && same && !nearCeiling(v, all):
		contradict(v, ran+": what limits each connection by itself would let several carry more")
	case v.Limiter == model.Undetermined, v.Limiter == model.LinkRate && same:
		v.Evidence = append(v.Evidence, known)
	default:
		return false
	}
	wasMade(v, "add a second stream")
	return true
}

// weighReverse: the other direction. It tells whether it bears on the verdict.
func weighReverse(v *model.Verdict, one, back unit.BitRate) bool {
	if v.Limiter != model.LinkRate && v.Limiter != model.Undetermined && v.Limiter != model.PathQueue {
		return false
	}
	said := fmt.Sprintf("the other direction carried %s", back)
	v.Evidence = append(v.Evidence, model.Evidence{What: said, Metric: "reverse_goodput", Value: float64(back), Unit: "bit/s"})
	wasMade(v, "test the reverse direction")
	if v.Limiter == model.LinkRate && back < unit.BitRate(lameReverse)*max(one, v.Measured) {
		contradict(v, said+": acknowledgments of this direction come back that way, so the fault may be there and not in the rate of this one")
		v.Fix.Advice = "look at the other direction first, " + said + ": its links, shapers and filters; then measure this one again"
	}
	return true
}

// ownLimit: a limit of each connection by itself.
func ownLimit(id model.LimiterID) bool {
	switch id {
	case model.ReceiverWindow, model.SendBuffer, model.Pacing, model.PathLoss, model.CongestionControl:
		return true
	}
	return false
}

func nearCeiling(v *model.Verdict, rate unit.BitRate) bool {
	return v.Ceiling != nil && rate >= atCeiling**v.Ceiling
}

// contradict adds what another rung showed against a verdict, and caps it.
func contradict(v *model.Verdict, what string) {
	v.Contradictions = append(v.Contradictions, model.Contradiction{Sign: model.OtherRun, What: what})
	v.Confidence = min(v.Confidence, rungsCap)
	if len(v.Causes) > 0 {
		v.Causes[0].Confidence = v.Confidence
	}
}

// wasMade takes out the part of the probes that was made.
func wasMade(v *model.Verdict, probe string) {
	for i := range v.Alternatives {
		a := &v.Alternatives[i]
		for _, cut := range []string{probe + ", and ", ", and " + probe, probe} {
			a.Probe = strings.Replace(a.Probe, cut, "", 1)
		}
		a.Probe = strings.TrimSpace(a.Probe)
	}
	v.Alternatives = slices.DeleteFunc(v.Alternatives, func(a model.Alternative) bool { return a.Probe == "" || strings.HasPrefix(a.Probe, ":") })
	v.Probe = probeFor(v)
	if v.Limiter == model.Undetermined && len(v.Alternatives) > 0 {
		v.Fix.Advice = v.Alternatives[0].Probe
	}
}
