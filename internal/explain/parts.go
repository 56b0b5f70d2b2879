package explain

import (
	"fmt"
	"slices"
	"time"

	"linerate/internal/model"
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

// part is one part of a flow's run, judged by itself.
type part struct {
	scene *scene
	first *finding
	sure  float64
	lacks float64 // of the ceiling or, where that is not known, of the fastest part; bit/s
}

// parts cuts the steady part of a flow; nil where it is too short, or as good as even.
func (s *scene) parts() []part {
	length := (s.span.to - s.span.from) / runParts
	if length < max(partTime, partTrips*s.minRTT) {
		return nil
	}
	var out []part
	slowest, fastest := 0.0, 0.0
	for i := range runParts {
		sp := s.span
		sp.from += time.Duration(i) * length
		sp.to, sp.fresh = sp.from+length, false
		p := part{scene: s.c.sceneOver(s.flow, sp)}
		if p.scene == nil || p.scene.n() < partSamples {
			return nil
		}
		p.scene.total = p.scene.rate()
		rate := p.scene.rate()
		if slowest, fastest = min(slowest, rate), max(fastest, rate); i == 0 {
			slowest = rate
		}
		out = append(out, p)
	}
	if fastest < partsUneven*slowest {
		return nil
	}
	most := s.ceiling
	if !known(most) {
		most = fastest
	}
	for i := range out {
		p := &out[i]
		b := ballot{scene: p.scene}
		b.first, b.next = p.scene.capFirst(diagnose(p.scene))
		p.scene.capUnshown(b.first)
		p.first, p.sure = b.first, confidence(b, 1)
		if len(p.scene.contradictions(b.first)) > 0 {
			p.sure = min(p.sure, contradictedCap)
		}
		p.lacks = max(0, most-p.scene.rate())
	}
	return out
}

// weighParts lowers the confidence where what is missing in parts of the only flow's run is explained by
// something else, or is missing where the limiter is not seen, or where it is seen to cost nothing at
// other times.
func (v *views) weighParts(out *model.Verdict) {
	if len(v.scenes) != 1 || claimsNothing(out.Limiter) {
		return
	}
	fits, not, all, well, idle := 0.0, 0.0, 0.0, false, false
	var others []part
	for _, p := range v.scenes[0].parts() {
		all += p.lacks
		switch id := p.first.id; {
		case id == out.Limiter || followsFrom(out.Limiter, id) || followsFrom(id, out.Limiter):
			fits += p.lacks
		case id == model.None:
			well, idle = true, idle || p.scene.shows(out.Limiter)
		case !claimsNothing(id):
			others = append(others, p)
			if p.sure >= partSure {
				not += p.lacks
			}
		}
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
func (s *scene) shows(id model.LimiterID) bool {
	return slices.ContainsFunc(detectors(), func(d detector) bool {
		if d.kind == calls || d.kind == stages {
			return false
		}
		f := d.see(s)
		return f != nil && f.id == id
	})
}

// beside names what is seen in the part, in the evidence and as the first alternative.
func (p part) beside(out *model.Verdict) {
	id, at := p.first.id, p.scene.span
	what := fmt.Sprintf("from %s to %s of the run %s of payload passed, and what is seen then is %s", seconds(at.from.Seconds()), seconds(at.to.Seconds()), bits(p.scene.rate()), id)
	if len(p.first.evidence) > 0 {
		what += ": " + p.first.evidence[0].What
	}
	out.Evidence = append(out.Evidence, model.Evidence{What: what, Metric: "another_in_part", Value: round(p.scene.rate()), Unit: "bit/s", Host: p.first.host, N: p.scene.n()})
	out.Alternatives = slices.DeleteFunc(out.Alternatives, func(a model.Alternative) bool { return a.Limiter == id })
	out.Alternatives = slices.Insert(out.Alternatives, 0, model.Alternative{Limiter: id, Probe: "watch longer, and see what else runs at the times at which the rate changes: more than one cause is at work, in turns"})
}
