package explain

import (
	"slices"

	"linerate/internal/model"
)

const (
	// manyReaders is how many read at once in the probe: enough that one's calls
	// fill the pauses of the others.
	manyReaders = 4
	// risesBy and staysBy: when more readers raise the rate by the first factor,
	// too few calls held it back; when they raise it by less than the second,
	// something else did. Runs of a few seconds differ by up to a tenth.
	risesBy = 1.25
	staysBy = 1.10
	// refutedCap caps the confidence in a limiter that the probe refuted and that
	// no other one can replace.
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

// Seen is the probe once it has run: c is what was seen of it. If the rate rises, too
// few calls held it back. If it stays, the server did, where it was among the causes.
// A probe that does not decide adds a note and changes nothing.
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
		v = settle(v, id, model.ServerTime, e.evidence, settled)
		v.Alternatives, v.Probe, v.Contradictions = nil, nil, nil // what was tried outweighs them
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

// withoutConcurrency drops the limiter that the probe refuted. Where the verdict named
// it, the server takes its place.
func withoutConcurrency(v model.Verdict, id model.LimiterID, evidence []model.Evidence) model.Verdict {
	if v.Limiter == id {
		sure := v.Confidence
		v = settle(v, model.ServerTime, id, evidence, settled)
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
