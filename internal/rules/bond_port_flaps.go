package rules

import (
	"fmt"

	"linerate/internal/model"
)

// bondPortFlaps: a port of a bond lost its link many times; each time its connections move and stall.
func bondPortFlaps() Rule {
	return Rule{
		ID:  "bond-port-flaps",
		Doc: "A port of a bond lost its link many times; each time its connections move and stall.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				for _, p := range b.Ports {
					if p.Failures < 10 {
						continue
					}
					return &model.Finding{
						Severity: Low, Title: fmt.Sprintf("port %s of %s comes and goes", p.Name, n.Name),
						Observed: fmt.Sprintf("%s: link failure count %d", p.Name, p.Failures),
						Fix:      "check the cable and the module of " + p.Name,
						Source:   "Documentation/networking/bonding.rst",
					}
				}
				return nil
			})
		},
	}
}
