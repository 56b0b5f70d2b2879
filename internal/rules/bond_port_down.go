package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func bondPortDown() Rule {
	return Rule{
		ID:     "bond-port-down",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A bond with a port down carries less, and the next failure ends it.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				var sum unit.BitRate
				var down []string
				known := true
				for _, p := range b.Ports {
					if !p.Up {
						down = append(down, p.Name)
						continue
					}
					sum, known = sum+p.Speed, known && p.Speed > 0
				}
				if len(down) == 0 || len(b.Ports) < 2 {
					return nil
				}
				out := &model.Finding{
					Severity: Medium, Title: n.Name + " runs without " + strings.Join(down, ", "),
					Observed: fmt.Sprintf("%s: %d of %d ports are down", n.Name, len(down), len(b.Ports)),
					Fix:      "check the cable and the switch port of  " + strings.Join(down, ", "),
					Source:   "Documentation/networking/bonding.rst",
				}
				if known && sum > 0 {
					out.Bound = &sum
					out.Observed += fmt.Sprintf("; the others carry %s together", sum)
				}
				return out
			})
		},
	}
}
