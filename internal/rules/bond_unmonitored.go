package rules

import (
	"fmt"

	"linerate/internal/model"
)

func bondUnmonitored() Rule {
	return Rule{
		ID:     "bond-unmonitored",
		Limits: []model.LimiterID{model.Outage},
		Doc:    "A bond without link monitoring goes on sending through a dead port.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				if b.MIIms > 0 || b.ARPms > 0 || len(b.Ports) < 2 {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: n.Name + " does not notice a dead port",
					Observed: fmt.Sprintf("%s: MII polling interval 0, ARP polling interval 0", n.Name),
					Fix:      "set miimon=100",
					Source:   "Documentation/networking/bonding.rst (miimon)",
				}
			})
		},
	}
}
