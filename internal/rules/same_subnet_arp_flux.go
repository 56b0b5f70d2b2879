package rules

import (
	"fmt"

	"linerate/internal/model"
)

func arpFlux() Rule {
	return Rule{
		ID:     "same-subnet-arp-flux",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "Two interfaces in one subnet answer ARP for each other: traffic for both arrives at one of them, and may move.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(sameSubnet(f), func(p subnetPair) *model.Finding {
				ignore, ok := p.a.ARPIgnore.Get()
				other, ok2 := p.b.ARPIgnore.Get()
				if !p.net.Addr().Is4() || !ok || !ok2 || ignore > 0 && other > 0 {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("%s and %s share a subnet and answer for each other", p.a.Name, p.b.Name),
					Observed: fmt.Sprintf("both are in %s; arp_ignore %d and %d", p.net, ignore, other),
					Fix:      "put each interface into a subnet of its own, join them in a bond, or set arp_ignore=1, arp_announce=2 and a routing rule per source address",
					Source:   "Documentation/networking/ip-sysctl.rst (arp_ignore, arp_filter); ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide",
				}
			})
		},
	}
}
