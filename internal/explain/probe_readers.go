package explain

import (
	"slices"

	"linerate/internal/model"
)

const (
	// manyReaders is how many read at once in the probe, which is enough to fill
	// in the gaps that each leaves.
	manyReaders = 4
	// risesBy and staysBy: a rate that more readers raise by the one, or by less
	// than the other, is or is not held by what is under way. Runs of a few
	// seconds differ by up to a tenth.
	risesBy = 1.25
	staysBy = 1.10
	// refutedCap is the most confidence in what the probe speaks against while
	// nothing else is left.
	refutedCap = 0.40
)

// Readers is the run that the probe with several readers takes.
type Readers struct {
	Readers int
	Before  float64 // bit/s that one reader reached
	words   words
}

// PlanReaders plans the probe for a verdict on a mount, share or disk that was
// read, where having more under way is one of the causes that it cannot tell
// apart.
func PlanReaders(c Case, v model.Verdict) (Readers, bool) {
	m := look(c).mount
	if m == nil || m.op != "READ" || len(v.Alternatives) == 0 || v.Measured <= 0 {
		return Readers{}, false
	}
	p := Readers{Readers: manyReaders, Before: float64(v.Measured), words: m.kind}
	asks := v.Limiter == m.kind.concurrency || slices.ContainsFunc(v.Alternatives, func(a model.Alternative) bool { return a.Limiter == m.kind.concurrency })
	return p, asks
}

// Seen is the probe once it has run: c is what was seen of it.
// A rate that rises was held by what was under way. One that stays was not: what
// is then left of the causes is the server where it was among them. What the
// probe does not settle stays as it was, with a note.
func (p Readers) Seen(c Case) Trial {
	return func(v model.Verdict) model.Verdict { return p.after(v, c) }
}

func (p Readers) after(v model.Verdict, c Case) model.Verdict {
	now, n := 0.0, 0
	if g, ok := c.Goodput.Get(); ok {
		now = float64(g)
	}
	if c.Receiver != nil {
		n = len(c.Receiver.Samples)
	}
	rise, id := now/p.Before, p.words.concurrency
	e := finding{}
	host := c.Receiver.host()
	switch {
	case rise >= risesBy:
		e.say(host, "readers_gain", rise, "ratio", n, "read in %d places at once the rate rises from %s to %s: more has to be under way", p.Readers, bits(p.Before), bits(now))
		v = settle(v, id, model.ServerTime, e.evidence)
		v.Alternatives, v.Probe = nil, nil
		v.Where, v.Host = model.AtReceiver, host
		v.Fix = operator(host, moreAdvice(p.words, true))
	case rise <= staysBy && v.Limiter == id && !asksServer(v):
		v.Confidence = min(v.Confidence, refutedCap)
		v.Notes = append(v.Notes, "read in several places at once the rate stays at "+bits(now)+": more under way does not raise it, and nothing seen tells what holds it")
	case rise <= staysBy:
		e.say(host, "readers_gain", rise, "ratio", n, "read in %d places at once the rate stays (%s, before %s): it is not held by what is under way", p.Readers, bits(now), bits(p.Before))
		v = withoutConcurrency(v, id, e.evidence)
	default:
		v.Notes = append(v.Notes, "the probe with several readers settles nothing: "+bits(p.Before)+" became "+bits(now))
	}
	return v
}

func asksServer(v model.Verdict) bool {
	return slices.ContainsFunc(v.Alternatives, func(a model.Alternative) bool { return a.Limiter == model.ServerTime })
}

// withoutConcurrency drops what the probe refuted. Where that was the named
// limiter the server takes its place.
func withoutConcurrency(v model.Verdict, id model.LimiterID, evidence []model.Evidence) model.Verdict {
	if v.Limiter == id {
		sure := v.Confidence
		v = settle(v, model.ServerTime, id, evidence)
		v.Confidence = max(sure, nfsOneEnd)
		return v
	}
	v.Evidence = append(slices.Clone(evidence), v.Evidence...)
	v.Alternatives = slices.DeleteFunc(slices.Clone(v.Alternatives), func(a model.Alternative) bool { return a.Limiter == id })
	v.Probe = probeFor(&v)
	if v.Limiter == model.ServerTime {
		v.Confidence = max(v.Confidence, nfsOneEnd)
	}
	return v
}
