package rules

import (
	"fmt"

	"linerate/internal/model"
)

func duplex() Rule {
	return Rule{
		ID:     "half-duplex",
		Limits: []model.LimiterID{model.LinkRate, model.PathLoss},
		Doc:    "On a half-duplex port data collides with its own acknowledgements; the usual cause is that one end was set by hand and the other negotiates.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachNIC(f, func(n model.NIC) *model.Finding {
				if mode, ok := n.Duplex.Get(); !ok || mode != "half" {
					return nil
				}
				found := &model.Finding{
					Severity: High,
					Title:    n.Name + " runs half duplex",
					Observed: fmt.Sprintf("%s: duplex half", n.Name),
					Fix:      fmt.Sprintf("let %s and its switch port both negotiate, or fix both to the same", n.Name),
					Source:   "IEEE 802.3 clause 28",
				}
				if speed, ok := n.Speed.Get(); ok {
					found.Bound = &speed
				}
				return found
			})
		},
	}
}
