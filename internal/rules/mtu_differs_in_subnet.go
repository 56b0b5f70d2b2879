package rules

import (
	"fmt"

	"linerate/internal/model"
)

func mtuDiffers() Rule {
	return Rule{
		ID:     "mtu-differs-in-subnet",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "Interfaces of one subnet with different MTUs: frames of the larger MTU are too large for the other interface, which drops them silently.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(sameSubnet(f), func(p subnetPair) *model.Finding {
				if p.a.MTU == p.b.MTU {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("%s and %s are in one subnet with different MTUs", p.a.Name, p.b.Name),
					Observed: fmt.Sprintf("%s: %s MTU %d, %s MTU %d", p.net, p.a.Name, p.a.MTU, p.b.Name, p.b.MTU),
					Fix:      "give every port of the subnet the same MTU: hosts 9000 and switches 9216, or 1500 everywhere",
					Source:   "RFC 4821 section 1 (a link has one MTU); ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide",
				}
			})
		},
	}
}
