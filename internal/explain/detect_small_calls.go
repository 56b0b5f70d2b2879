package explain

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

const (
	// smallCall: a call of this size or less costs its round trip and the CPU time of
	// both ends for next to no data. 1 MiB is what client and server agree on by
	// themselves (nfs(5), MS-SMB2 3.3.5.4).
	smallCall  = 32 << 10
	agreedCall = 1 << 20
	// smallCallsGain is what calls of the agreed size have to bring at least, by the
	// time that a call takes now.
	smallCallsGain = 1.3
	// smallCallsCap and smallCallsDoubt cap the confidence; the latter where a lack of
	// CPU was elected, which small calls bring about and so does other work.
	smallCallsCap, smallCallsDoubt = 0.75, 0.6
	// findingFits: the goodput is this near the bound of a finding.
	findingFits = 0.85
	// sureOfFinding is the confidence in a finding whose bound fits and that nothing
	// else was seen to contradict.
	sureOfFinding = 0.6
)

// seeSmallCalls: the mount was set to move small pieces, so that each few KiB cost a call.
// The rules found the setting; the calls show that it is what the time goes into.
func seeSmallCalls(s *scene) *finding {
	m := s.c.mount
	if m.size > smallCall || !beneathCalls(s.elected) {
		return nil
	}
	i := slices.IndexFunc(s.c.Findings, func(x model.Finding) bool {
		return x.Host == m.end.Host && slices.Contains(x.Limiters, m.kind.concurrency) && strings.Contains(x.Rule, "transfer")
	})
	// A call of the agreed size takes as long, and the wire time of its data besides.
	longer := m.rtt + m.wire*(agreedCall/m.size-1)
	would := agreedCall * 8 * m.inflight / longer
	if i < 0 || !(would >= smallCallsGain*s.total) {
		return nil
	}
	found := s.c.Findings[i]
	f := &finding{id: m.kind.concurrency, host: m.end.Host, margin: over(agreedCall/m.size, agreedCall/smallCall, 128), cap: smallCallsCap, advice: found.Fix}
	f.say(f.host, m.kind.metric+"_call_bytes", m.size, "bytes", m.n, "each %s carries %s only, so that %s cost %.0f %s: %s", m.op, size(m.size), bits(s.total), m.calls, m.kind.calls, found.Observed)
	m.callEvidence(f)
	if id := s.elected.Limiter; id == model.ReceiverCPU || id == model.SenderCPU {
		f.cap = smallCallsDoubt
		f.or(id, "mount with the size that both ends agree on: if the rate stays, other work takes the CPU")
	}
	return f
}

// beneathCalls: the elected limiter may be no more than what small calls bring about.
func beneathCalls(v *model.Verdict) bool {
	switch v.Limiter {
	case model.Undetermined, model.ReceiverCPU, model.SenderCPU, model.ApplicationSource, model.ApplicationSink, model.StartUp:
		return true
	}
	return len(v.Contradictions) > 0 && v.Limiter != model.None
}

// admit lets a finding of the rules into a verdict that is weak: where the goodput is
// what the finding says that it bounds, it is the cause; elsewhere cite has it.
func admit(v *model.Verdict, found []model.Finding) {
	if v.Limiter == model.None || v.Limiter != model.Undetermined && v.Confidence >= 0.5 {
		return
	}
	for _, f := range found {
		if f.Severity == rules.Info || f.Bound == nil || len(f.Limiters) == 0 || slices.Contains(f.Limiters, v.Limiter) || *f.Bound <= 0 {
			continue
		}
		if share := float64(v.Measured) / float64(*f.Bound); !(share >= findingFits && share <= refutes) {
			continue
		}
		id := f.Limiters[0]
		if v.Limiter != model.Undetermined {
			v.Alternatives = append(v.Alternatives, model.Alternative{Limiter: v.Limiter, Probe: "remove the cause that is named and look again: what then remains is another"})
		}
		said := model.Evidence{What: fmt.Sprintf("%s allows %s, and that is what was measured: %s [%s]", f.Title, unit.BitRate(*f.Bound), f.Observed, f.Rule), Metric: "finding_bound", Value: float64(*f.Bound), Unit: "bit/s", Host: f.Host}
		v.Limiter, v.Where, v.Host, v.Confidence = id, limiter(id).Where, f.Host, sureOfFinding
		v.Evidence, v.Contradictions, v.Account = append([]model.Evidence{said}, v.Evidence...), nil, nil
		v.Fix, v.ExpectedGain, v.NextLimit = operator(f.Host, f.Fix), nil, nil
		v.Causes = []model.Cause{firstCause(v, float64(v.Measured))}
		v.Probe = probeFor(v)
		return
	}
}
