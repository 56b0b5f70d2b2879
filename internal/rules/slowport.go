package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// slowPort: a port that fell back to 100 Mbit/s or less, as gigabit ports do
// on a cable with a broken pair.
func slowPort() Rule {
	return Rule{
		ID:     "slow-port",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A port negotiated 100 Mbit/s or less: mostly a damaged cable or a port set by hand.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, n := range f.NICs {
				speed, ok := n.Speed.Get()
				if !ok || !n.Up || speed <= 0 || speed > 100*unit.Mbit {
					continue
				}
				out = append(out, model.Finding{
					Severity: Medium,
					Title:    fmt.Sprintf("%s negotiated only %s", n.Name, speed),
					Observed: fmt.Sprintf("%s: speed %s", n.Name, speed),
					Bound:    &speed,
					Fix:      fmt.Sprintf("try another cable and switch port for %s, and let both ends negotiate", n.Name),
					Source:   "IEEE 802.3 clauses 28 and 40: 1000BASE-T needs all four pairs",
				})
			}
			return out
		},
	}
}
