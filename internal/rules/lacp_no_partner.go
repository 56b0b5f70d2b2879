package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func lacpNoPartner() Rule {
	return Rule{
		ID:     "lacp-no-partner",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "The other end does not answer LACP: the bond uses one port only.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				if !isLACP(b) || b.Partner != "00:00:00:00:00:00" || upPorts(b) == 0 {
					return nil
				}
				speed, known := unit.BitRate(0), true
				for _, p := range b.Ports {
					speed, known = max(speed, p.Speed), known && (p.Speed > 0 || !p.Up)
				}
				out := &model.Finding{
					Severity: High, Title: "the switch of " + n.Name + " does not speak LACP",
					Observed: fmt.Sprintf("%s: mode %s, partner 00:00:00:00:00:00", n.Name, b.Mode),
					Fix:      "configure an LACP group (not a static one) on its switch ports",
					Source:   "IEEE 802.1AX; Documentation/networking/bonding.rst (802.3ad)",
				}
				if known && speed > 0 {
					out.Bound = &speed
					out.Observed += fmt.Sprintf("; one port carries %s", speed)
				}
				return out
			})
		},
	}
}
