package explain

import (
	"slices"

	"linerate/internal/model"
)

// JudgeWithout is Judge by an engine that does not know the limiters named: none of its detectors
// can name them. Its verdict on a recording of one of them shows how it answers a fault that nobody
// has thought of.
func JudgeWithout(c Case, ids ...model.LimiterID) model.Verdict {
	c.without = ids
	return Judge(c)
}

// unknowing tells whether the engine is not to know the limiter.
func (c Case) unknowing(id model.LimiterID) bool { return slices.Contains(c.without, id) }

// knowing is the verdict, or none where the engine is not to know its limiter.
func (c Case) knowing(v model.Verdict) model.Verdict {
	if !c.unknowing(v.Limiter) {
		return v
	}
	return model.Verdict{Limiter: model.Undetermined, Where: model.Nowhere, Evidence: v.Evidence,
		Fix: model.Fix{Kind: model.FixNone, Advice: restAdvice(model.Undetermined)}}
}
