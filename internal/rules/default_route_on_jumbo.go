package rules

import (
	"fmt"

	"linerate/internal/model"
)

func jumboDefault() Rule {
	return Rule{
		ID:     "default-route-on-jumbo",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "The default route leads through the jumbo network: traffic to the Internet mixes with storage and depends on path MTU discovery, which firewalls break.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Routes, func(r model.Route) *model.Finding {
				n := nicNamed(f, r.Dev)
				if n == nil || !n.Up || r.Dst.Bits() != 0 || !r.Gateway.IsValid() || n.MTU <= 1500 {
					return nil
				}
				other := eachPort(f, func(o model.NIC) *model.Finding {
					if o.Name == n.Name || o.Master != "" || o.MTU != 1500 || len(o.Addrs) == 0 {
						return nil
					}
					return &model.Finding{Title: o.Name}
				})
				if len(other) == 0 {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: "the default route leads through the jumbo network",
					Observed: fmt.Sprintf("default via %s dev %s, MTU %d; %s has MTU 1500", r.Gateway, n.Name, n.MTU, other[0].Title),
					Fix:      fmt.Sprintf("give the default route to %s and keep %s for storage", other[0].Title, n.Name),
					Source:   "ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide (isolate the jumbo network); RFC 2923 section 2.1",
				}
			})
		},
	}
}
