package rules

import (
	"fmt"

	"linerate/internal/model"
)

// duplex: a port that sends or receives, never both.
func duplex() Rule {
	return Rule{
		ID:     "half-duplex",
		Limits: []model.LimiterID{model.LinkRate, model.PathLoss},
		Doc:    "A half-duplex port collides with its own acknowledgements; one end was set by hand, the other negotiates.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, n := range f.NICs {
				if mode, ok := n.Duplex.Get(); !ok || !n.Up || mode != "half" {
					continue
				}
				found := model.Finding{
					Severity: High,
					Title:    n.Name + " runs half duplex",
					Observed: fmt.Sprintf("%s: duplex half", n.Name),
					Fix:      fmt.Sprintf("let %s and its switch port both negotiate, or fix both to the same", n.Name),
					Source:   "IEEE 802.3 clause 28",
				}
				if speed, ok := n.Speed.Get(); ok {
					found.Bound = &speed
				}
				out = append(out, found)
			}
			return out
		},
	}
}
