package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// A verdict goes by means and shares over a whole run. Causes that take turns, and a cause that is
// there for a part of the time, mix in them to what neither is. So the run is judged in parts as well,
// and what is missing in each has to be explained by the verdict.

const (
	// runParts is into how many parts a run is cut, if each has partSamples or more and lasts
	// partTime and partTrips round trips.
	runParts    = 3
	partSamples = 8
	partTime    = time.Second
	partTrips   = startUpRTTs
	// partConns: of more connections than these the parts are not judged, which would take long.
	partConns = 64
	// partSure: a part has a say from this confidence on.
	partSure = 0.6
	// partsUneven: the goodput of the parts differs by at least this factor. That of one cause that
	// is always there hardly does.
	partsUneven = 1.25
	// partsAgree and partsMost of what is missing lie in parts that the verdict explains, or that
	// nothing else does. Below the first it is contradicted, below the second unsure.
	partsAgree = 0.5
	partsMost  = 0.8
	// unevenCap is the most confidence in a limiter that explains most parts, not all.
	unevenCap = 0.65
)

// part is one part of a run, judged by itself.
type part struct {
	views    *views
	from, to time.Duration
	verdict  model.Verdict
	lacks    float64 // of the ceiling or, where that is not known, of the fastest part; bit/s
	idle     bool    // the path is full, and the signature of the run's limiter is there
}

// parts cuts the run from the first steady moment of a connection to the last; nil where it is too short,
// has too many connections, or is as good as even.
func (v *views) parts() []part {
	if len(v.scenes) == 0 || len(v.scenes) > partConns {
		return nil
	}
	from, to, trip := v.scenes[0].span.from, v.scenes[0].span.to, v.scenes[0].minRTT
	for _, s := range v.scenes[1:] {
		from, to, trip = min(from, s.span.from), max(to, s.span.to), max(trip, s.minRTT)
	}
	length := (to - from) / runParts
	if length < max(partTime, partTrips*trip) {
		return nil
	}
	var out []part
	for i := range runParts {
		p := part{from: from + time.Duration(i)*length}
		p.to = p.from + length
		p.views = look(v.between(p.from, p.to))
		if len(p.views.scenes) == 0 || p.views.scenes[0].n() < partSamples {
			return nil
		}
		out = append(out, p)
	}
	slowest, fastest := out[0].views.goodput, out[0].views.goodput
	for _, p := range out {
		slowest, fastest = min(slowest, p.views.goodput), max(fastest, p.views.goodput)
	}
	if fastest < partsUneven*slowest {
		return nil
	}
	most := fastest
	if r := v.link.Rate; r != nil {
		most = float64(*r)
	}
	for i := range out {
		out[i].verdict, out[i].lacks = elect(out[i].views.scenes), max(0, most-out[i].views.goodput)
	}
	return out
}

// between is the case with the samples of a part of the time alone.
func (v *views) between(from, to time.Duration) Case {
	c := v.Case
	for _, e := range []**End{&c.Sender, &c.Receiver} {
		if *e == nil {
			continue
		}
		n := **e
		first, _ := slices.BinarySearchFunc(n.Samples, from, func(s model.Sample, at time.Duration) int { return cmp.Compare(s.At, at) })
		last := first
		for last < len(n.Samples) && n.Samples[last].At <= to {
			last++
		}
		n.Samples = n.Samples[first:last]
		*e = &n
	}
	c.Goodput = model.Fact[unit.BitRate]{} // it is of the whole
	return c
}

// weighParts lowers the confidence where what is missing in parts of the run is explained by
// something else, or is missing where the limiter is not seen, or where it is seen to cost nothing at
// other times.
func (v *views) weighParts(out *model.Verdict) {
	if claimsNothing(out.Limiter) {
		return
	}
	fits, not, all, well, idle := 0.0, 0.0, 0.0, false, false
	var others []part // in which the limiter is not seen, or costs nothing
	for _, p := range v.parts() {
		all += p.lacks
		switch id := p.verdict.Limiter; {
		case id == out.Limiter || followsFrom(out.Limiter, id) || followsFrom(id, out.Limiter):
			fits += p.lacks
			continue
		case id == model.None:
			p.idle = p.shows(out.Limiter)
			well, idle = true, idle || p.idle
		case !claimsNothing(id) && p.verdict.Confidence >= partSure:
			not += p.lacks
		}
		others = append(others, p)
	}
	most := 1.0
	switch share := ratio(fits, fits+not); {
	case not > 0 && share < partsAgree || well && fits < partsAgree*all || idle:
		most = contradictedCap
	case not > 0 && share < partsMost:
		most = unevenCap
	default:
		return
	}
	out.Confidence = min(out.Confidence, most)
	for _, p := range slices.Backward(others) {
		p.beside(out)
	}
}

// shows tells whether the limiter's signature is there, whatever it costs.
func (p part) shows(id model.LimiterID) bool {
	return slices.ContainsFunc(p.views.scenes, func(s *scene) bool {
		return slices.ContainsFunc(detectors(), func(d detector) bool {
			if d.kind == calls || d.kind == stages {
				return false
			}
			f := d.see(s)
			return f != nil && f.id == id
		})
	})
}

// beside names what is seen in the part, in the evidence and, where that is another limiter, as the
// first alternative.
func (p part) beside(out *model.Verdict) {
	id := p.verdict.Limiter
	metric, seen := p.seen(out.Limiter)
	what := fmt.Sprintf("from %s to %s of the run %s of payload passed, and %s", seconds(p.from.Seconds()), seconds(p.to.Seconds()), bits(p.views.goodput), seen)
	out.Evidence = append(out.Evidence, model.Evidence{What: what, Metric: metric, Value: round(p.views.goodput), Unit: "bit/s", Host: p.verdict.Host, N: p.views.scenes[0].n()})
	if claimsNothing(id) {
		return
	}
	out.Alternatives = slices.DeleteFunc(out.Alternatives, func(a model.Alternative) bool { return a.Limiter == id })
	out.Alternatives = slices.Insert(out.Alternatives, 0, model.Alternative{Limiter: id, Probe: "watch longer, and see what else runs at the times at which the rate changes: more than one cause is at work, in turns"})
}

// seen says what is seen in the part of a run whose limiter is whole, and the metric of that.
func (p part) seen(whole model.LimiterID) (metric, what string) {
	switch id := p.verdict.Limiter; {
	case id == model.None && p.idle:
		return "full_in_part", fmt.Sprintf("the path is full then, though the signs of %s are there", whole)
	case id == model.None:
		return "full_in_part", fmt.Sprintf("the path is full then, without %s", whole)
	case claimsNothing(id):
		return "unseen_in_part", "what holds it back then is not seen"
	case len(p.verdict.Evidence) > 0:
		return "another_in_part", fmt.Sprintf("what is seen then is %s: %s", id, p.verdict.Evidence[0].What)
	default:
		return "another_in_part", fmt.Sprintf("what is seen then is %s", id)
	}
}
