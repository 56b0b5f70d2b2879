package explain

import (
	"math"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// causesOf fills in what follows from the first finding: the causes in the
// order in which they bind, and the next limit.
func causesOf(v *model.Verdict, b ballot) {
	if claimsNothing(v.Limiter) {
		return
	}
	s := b.scene
	later := s.outlook(b.first)
	if b.next != nil && !names(later, b.next.id) && !followsFrom(b.first.id, b.next.id) {
		b.next.bound = unknown()
		later = append(later, b.next)
	}
	v.NextLimit = s.nextLimit(later, s.ceilingWithout(b.first))
	if n, g := v.NextLimit, v.ExpectedGain; n != nil && n.Limiter != model.None && g != nil && n.At < g.High {
		g.Low = max(v.Measured, min(g.Low, n.At))
		g.Why += "; " + string(n.Limiter) + " may bind at " + n.At.String()
	}
	v.Causes = []model.Cause{firstCause(v, s.total)}
	for i, f := range later {
		c := model.Cause{Limiter: f.id, Where: limiter(f.id).Where, Host: f.host, Evidence: f.evidence, Fix: fixFor(s, f)}
		c.Confidence = math.Round(100*laterConfidence(f)) / 100
		c.GainLow, c.GainHigh = s.gained(f.bound, later[i+1:])
		v.Causes = append(v.Causes, c)
	}
}

// followsFrom tells whether the signature of limiter id is only an effect of the first
// one: where a reader lacks CPU, data waits and the window closes.
func followsFrom(first, id model.LimiterID) bool {
	var seen []model.LimiterID
	switch first {
	case model.SenderCPU:
		seen = []model.LimiterID{model.ApplicationSource, model.SendBuffer}
	case model.ReceiverCPU:
		seen = []model.LimiterID{model.ApplicationSink, model.ReceiverWindow}
	case model.ApplicationSink:
		seen = []model.LimiterID{model.ReceiverWindow, model.ReceiverCPU}
	case model.ApplicationSource:
		seen = []model.LimiterID{model.SenderCPU}
	case model.CongestionControl:
		seen = []model.LimiterID{model.PathLoss}
	}
	return slices.Contains(seen, id)
}

func claimsNothing(id model.LimiterID) bool {
	return id == model.None || id == model.Undetermined || id == model.StartUp
}

// firstCause is the verdict's own limiter as a cause; now is the goodput.
func firstCause(v *model.Verdict, now float64) model.Cause {
	c := model.Cause{Limiter: v.Limiter, Where: v.Where, Host: v.Host, Confidence: v.Confidence, Evidence: v.Evidence, Fix: v.Fix}
	if g := v.ExpectedGain; g != nil {
		lo, hi := max(0, g.Low-unit.BitRate(now)), max(0, g.High-unit.BitRate(now))
		c.GainLow, c.GainHigh = &lo, &hi
	}
	return c
}

// laterConfidence is low: a second limiter is seen to exist, but not to be the next
// that binds.
func laterConfidence(f *finding) float64 {
	p := 0.3 + 0.3*f.margin
	if known(f.bound) && f.cap > 0 {
		p = f.cap
	}
	if f.cap > 0 {
		p = min(p, f.cap)
	}
	return p
}

func names(fs []*finding, id model.LimiterID) bool {
	return slices.ContainsFunc(fs, func(f *finding) bool { return f.id == id })
}

// gained is how far goodput may rise from one limit to the next, at least and
// at most; unknown where one of the two is.
func (s *scene) gained(from float64, later []*finding) (lo, hi *unit.BitRate) {
	to := s.ceiling
	if len(later) > 0 && known(later[0].bound) && !(later[0].bound >= to) {
		to = later[0].bound
	}
	if !known(from) || !known(to) {
		return nil, nil
	}
	var none unit.BitRate
	most := unit.BitRate(max(0, to-from))
	return &none, &most
}

func (s *scene) nextLimit(later []*finding, ceiling float64) *model.NextLimit {
	for _, f := range later {
		if !known(f.bound) {
			continue
		}
		why := ""
		if len(f.evidence) > 0 {
			why = f.evidence[0].What
		}
		return &model.NextLimit{Limiter: f.id, Host: f.host, At: unit.BitRate(f.bound), Why: why}
	}
	if !known(ceiling) || ceiling <= s.total {
		return nil
	}
	return &model.NextLimit{Limiter: model.None, At: unit.BitRate(ceiling), Why: "the ceiling of the link"}
}

// probeFor is the first alternative's probe with all that it tells apart.
func probeFor(v *model.Verdict) *model.Probe {
	if len(v.Alternatives) == 0 {
		return nil
	}
	p := &model.Probe{Between: []model.LimiterID{v.Limiter}, Do: v.Alternatives[0].Probe}
	for _, a := range v.Alternatives {
		if a.Probe == p.Do {
			p.Between = append(p.Between, a.Limiter)
		}
	}
	return p
}
