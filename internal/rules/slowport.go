package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func slowPort() Rule {
	return Rule{
		ID:     "slow-port",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A port negotiated 100 Mbit/s or less: the usual causes are a damaged cable and a port that was set by hand.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachNIC(f, func(n model.NIC) *model.Finding {
				speed, ok := n.Speed.Get()
				if !ok || speed <= 0 || speed > 100*unit.Mbit {
					return nil
				}
				return &model.Finding{
					Severity: Medium,
					Title:    fmt.Sprintf("%s negotiated only %s", n.Name, speed),
					Observed: fmt.Sprintf("%s: speed %s", n.Name, speed),
					Bound:    &speed,
					Fix:      fmt.Sprintf("try another cable and switch port for %s, and let both ends negotiate", n.Name),
					Source:   "IEEE 802.3 clauses 28 and 40: 1000BASE-T needs all four pairs",
				}
			})
		},
	}
}
