package rules

import (
	"fmt"

	"linerate/internal/model"
)

// twoDefaults: two default routes of one metric: which one is used depends on the order in which they were set.
func twoDefaults() Rule {
	return Rule{
		ID:  "two-default-routes",
		Doc: "Two default routes of one metric: which one is used depends on the order in which they were set.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for i, a := range f.Routes {
				for _, b := range f.Routes[i+1:] {
					if a.Dst.Bits() != 0 || !a.Dst.Addr().Is4() || b.Dst != a.Dst || a.Metric != b.Metric || a.Dev == b.Dev {
						continue
					}
					out = append(out, model.Finding{
						Severity: Low, Title: "two default routes compete",
						Observed: fmt.Sprintf("default via %s dev %s and via %s dev %s, both metric %d", a.Gateway, a.Dev, b.Gateway, b.Dev, a.Metric),
						Fix:      "keep one default route, on the network that is to be routed; give the other a higher metric",
						Source:   "ip-route(8); ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide (only one interface routes)",
					})
				}
			}
			return out
		},
	}
}
