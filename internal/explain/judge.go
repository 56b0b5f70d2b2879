package explain

import (
	"fmt"
	"math"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Judge makes the verdict on a case; nobody changes it afterwards. It names one
// limiter. Each connection that took part is judged by itself and votes with the
// bytes that it is missing (vote.go); the one with the most votes for the winner gives
// the evidence. Then come, in this order, the calls of a mount that the connections
// carry, the probes, the notes, the findings of the rules, and the place among
// published results. The verdict is never blank: without evidence it is
// "undetermined" and says what was missing. All its numbers are finite.
//
// Confidence is 0.6 + 0.35 × margin, where margin (0..1) is how far the deciding
// feature lies past its threshold. It has a cap where another limiter shows the same
// signature (each detector says so), where an unseen end could refute it, below ten
// samples, and where a hypervisor takes the CPU. A second limiter with a signature of
// its own takes 0.1 away. The result is multiplied by the share of the bytes that
// agree.
func Judge(c Case) model.Verdict {
	seen := look(c)
	v := seen.judge()
	v.Ceiling, v.Measured = seen.link.Rate, unit.BitRate(seen.goodput)
	if v.Ceiling != nil && *v.Ceiling > 0 {
		share := round(float64(v.Measured) / float64(*v.Ceiling))
		v.ShareOfCeiling = &share
	}
	if v.Limiter == model.LinkRate && v.Ceiling == nil {
		fullPath(&v, seen.copy != nil)
	}
	if len(v.Causes) == 0 && !claimsNothing(v.Limiter) {
		v.Causes = []model.Cause{firstCause(&v, float64(v.Measured))}
	}
	seen.balance(&v)
	seen.wayEvidence(&v)
	if len(v.Causes) > 0 { // the calls may have changed both
		v.Causes[0].Confidence, v.Causes[0].Evidence = v.Confidence, v.Evidence
	}
	v.Probe = probeFor(&v)
	clean(&v)
	narrow(&v, c)
	for _, after := range c.Trials {
		v = after(v)
	}
	weigh(&v, c.Rungs)
	lostByLab(&v, c.Lost)
	if c.Ground != nil {
		v = moreAhead(v, *c.Ground)
	}
	v.Notes = append(v.Notes, seen.outrunNote()...)
	v.Notes = append(v.Notes, c.Notes...)
	admit(&v, c.Findings)
	cite(&v, c.Findings)
	place(&v, seen)
	around(&v)
	if v.Fix.Kind == model.FixOperator && len(v.Evidence) > 0 {
		v.Fix.Because = v.Evidence[0].What
		if len(v.Causes) > 0 {
			v.Causes[0].Fix = v.Fix
		}
	}
	v.Line = Line(v)
	return v
}

// Carried is what a verdict on a case says that the path carried, and what it could have carried
// (nil: not known). It is for callers that need no verdict, and takes a small part of the work of
// one.
func Carried(c Case) (goodput unit.BitRate, ceiling *unit.BitRate) {
	seen := look(c)
	if c.Unreached == nil {
		seen.shortFlows() // where those moved most, the interface tells how much
	}
	v := model.Verdict{Ceiling: seen.link.Rate, Measured: unit.BitRate(seen.goodput)}
	clean(&v)
	return v.Measured, v.Ceiling
}

// judge names the limiter: that of a connection that did not come up, else the
// one that the connections elect, unless the calls that they carry tell more.
func (v *views) judge() model.Verdict {
	if v.Unreached != nil {
		return v.knowing(v.judgeUnreached())
	}
	var out model.Verdict
	if short := v.shortFlows(); short != nil && v.mount == nil && !v.unknowing(short.Limiter) {
		short.CouldNotSee = blind(v.Case)
		return *short
	}
	if len(v.scenes) == 0 {
		out = v.knowing(nothingMoved(v.Case))
	} else {
		out = elect(v.scenes)
		v.weighParts(&out)
	}
	if v.mount != nil {
		out = v.judgeCalls(out)
	}
	if v.copy != nil {
		out = v.judgeStages(out)
	}
	if len(v.scenes) == 0 && uncounted(v.Case) != nil {
		out.Confidence = min(out.Confidence, contradictedCap)
	}
	out.CouldNotSee = append(out.CouldNotSee, blind(v.Case)...)
	return out
}

// fullCap caps the confidence in "the path is full" where its line rate is not known.
const fullCap = 0.3

// fullPath turns link-rate into "undetermined" where the line rate is not known: a
// full path may be healthy, or its slowest hop may be too slow. A copy cannot be told the rate.
func fullPath(v *model.Verdict, copies bool) {
	ask := "state what the slowest link between the two should carry (--line-rate 10Gbit)"
	if copies {
		ask = "find out what the slowest link between the two should carry"
	}
	f := finding{alts: []model.Alternative{{Limiter: model.LinkRate, Probe: fmt.Sprintf("%s: if that is %s of payload, nothing is wrong; if it is more, a hop is slow", ask, v.Measured)}}}
	f.say("", "path_full", float64(v.Measured), "bit/s", 0, "the path is full at %s, and whether it should carry more is not known", v.Measured)
	if len(v.Evidence) > 0 {
		f.evidence[0].N = v.Evidence[0].N
	}
	v.Evidence = append(f.evidence, v.Evidence...)
	v.Alternatives = append(f.alts, v.Alternatives...)
	v.Limiter, v.Where, v.Host, v.Confidence = model.Undetermined, model.Nowhere, "", min(v.Confidence, fullCap)
	v.Fix = model.Fix{Kind: model.FixNone, Advice: f.alts[0].Probe}
	v.ExpectedGain, v.Causes, v.NextLimit = nil, nil, nil
}

// rate of this one flow, bit/s.
func (s *scene) rate() float64 {
	if s.rcv != nil {
		return s.rcv.rate
	}
	return s.snd.rate
}

func verdict(b ballot, agree float64, streams int) model.Verdict {
	f := b.first
	row := limiter(f.id)
	v := model.Verdict{
		Limiter: f.id, Where: row.Where, Host: f.host,
		Evidence: f.evidence, Alternatives: f.alts, Notes: f.notes,
	}
	if f.id == model.TCPMemory && b.scene.c.Sender != nil && f.host == b.scene.c.Sender.Host {
		v.Where = model.AtSender
	}
	v.Confidence = confidence(b, agree)
	v.Contradictions = b.scene.contradictions(f)
	if len(v.Contradictions) > 0 {
		v.Confidence = min(v.Confidence, contradictedCap)
	}
	b.scene.busyMachine(&v)
	v.Fix = fixFor(b.scene, f)
	v.ExpectedGain = gainFor(b.scene, f, v.Fix)
	if s := b.scene; f.id != model.None && f.id != model.Undetermined && s.stolenShare() >= heavySteal {
		v.Notes = append(v.Notes, "the hypervisor takes "+pct(s.stolenShare())+" of the time of the core in use: measure again when the machine under this virtual one is quieter")
	}
	if streams > 1 && agree < 1 {
		v.Notes = append(v.Notes, "connections differ: "+pct(agree)+" of what is missing belongs to those that this limiter holds back")
	}
	return v
}

// noCeilingCap caps the confidence in a limiter of which no ceiling shows the cost.
const noCeilingCap = 0.5

const (
	// heavySteal: when the hypervisor takes this share of a core's time, it may be
	// the cause of all that is seen. stealCap then caps the confidence in any
	// other cause.
	heavySteal = 0.25
	stealCap   = contradictedCap
)

// fewSamples: features from fewer samples than this are coarse.
const fewSamples = 10

func confidence(b ballot, agree float64) float64 {
	p := 0.6 + 0.35*b.first.margin
	if b.next != nil {
		p -= 0.1
	}
	if b.first.cap > 0 {
		p = min(p, b.first.cap)
	}
	if b.first.costs && !known(b.scene.ceiling) {
		p = min(p, noCeilingCap)
	}
	if b.first.id != model.None && b.scene.stolenShare() >= heavySteal {
		p = min(p, stealCap)
	}
	if n := b.scene.n(); n < fewSamples && b.first.id != model.StartUp {
		p = min(p, 0.3+0.03*float64(n))
	}
	return math.Round(p*agree*100) / 100
}

func limiter(id model.LimiterID) model.Limiter {
	for _, l := range model.Limiters() {
		if l.ID == id {
			return l
		}
	}
	return model.Limiter{ID: id, Where: model.Nowhere, Fix: model.FixNone}
}

// clean drops whatever is not a finite number: a verdict is printed as JSON,
// which has no other.
func clean(v *model.Verdict) {
	if !known(float64(v.Measured)) {
		v.Measured = 0
	}
	if v.Ceiling != nil && !known(float64(*v.Ceiling)) {
		v.Ceiling = nil
	}
	if v.Ceiling == nil || v.ShareOfCeiling == nil || !known(*v.ShareOfCeiling) {
		v.ShareOfCeiling = nil
	}
	if g := v.ExpectedGain; g != nil && (!known(float64(g.Low)) || !known(float64(g.High))) {
		v.ExpectedGain = nil
	}
	if !known(v.Confidence) {
		v.Confidence = 0
	}
	v.Confidence = min(1, max(0, v.Confidence))
	if v.Evidence == nil {
		v.Evidence = []model.Evidence{}
	}
	if v.Causes == nil {
		v.Causes = []model.Cause{}
	}
	for i := range v.Causes {
		c := &v.Causes[i]
		if c.GainLow != nil && (!known(float64(*c.GainLow)) || !known(float64(*c.GainHigh))) {
			c.GainLow, c.GainHigh = nil, nil
		}
	}
	if n := v.NextLimit; n != nil && !known(float64(n.At)) {
		v.NextLimit = nil
	}
}
