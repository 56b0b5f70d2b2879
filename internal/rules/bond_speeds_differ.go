package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func bondSpeeds() Rule {
	return Rule{
		ID:     "bond-speeds-differ",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "The ports of a bond run at different speeds: the hash gives each as many connections, so the slow one holds some back; LACP leaves it out.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				var least, most unit.BitRate
				for _, p := range b.Ports {
					if p.Up && p.Speed > 0 {
						if least == 0 || p.Speed < least {
							least = p.Speed
						}
						most = max(most, p.Speed)
					}
				}
				if least == most || strings.Contains(b.Mode, "active-backup") {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: "the ports of " + n.Name + " run at different speeds",
					Observed: fmt.Sprintf("%s: %s and %s", n.Name, least, most),
					Fix:      "bring all ports of " + n.Name + " to one speed: cables, modules, switch ports",
					Source:   "IEEE 802.1AX; Documentation/networking/bonding.rst",
				}
			})
		},
	}
}
