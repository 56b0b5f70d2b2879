package rules

import (
	"fmt"

	"linerate/internal/model"
)

func routeMTU() Rule {
	return Rule{
		ID:     "route-mtu-below-link",
		Limits: []model.LimiterID{model.PacketCost},
		Doc:    "A route that lowers the MTU disables jumbo frames for all traffic that uses it.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Routes, func(r model.Route) *model.Finding {
				n := nicNamed(f, r.Dev)
				if n == nil || !n.Up || r.MTU <= 0 || r.MTU >= n.MTU {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: fmt.Sprintf("the route to %s lowers the MTU", r.Dst),
					Observed: fmt.Sprintf("route %s dev %s mtu %d, the interface has %d", r.Dst, r.Dev, r.MTU, n.MTU),
					Fix:      "take the mtu out of the route unless the path is known to need it",
					Source:   "ip-route(8)",
				}
			})
		},
	}
}
