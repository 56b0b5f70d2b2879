package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
)

func bondRoundRobin() Rule {
	return Rule{
		ID:     "bond-round-robin",
		Limits: []model.LimiterID{model.Reordering},
		Doc:    "Round robin sends the segments of one connection over several ports: they arrive out of order, which TCP takes for loss.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				if !strings.Contains(b.Mode, "round-robin") || upPorts(b) < 2 {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: n.Name + " sends segments out of order",
					Observed: fmt.Sprintf("%s: mode %s, %d ports", n.Name, b.Mode, upPorts(b)),
					Fix:      "use LACP (802.3ad) with the hash layer3+4 and several connections",
					Source:   "Documentation/networking/bonding.rst (balance-rr, out of order delivery)",
				}
			})
		},
	}
}
