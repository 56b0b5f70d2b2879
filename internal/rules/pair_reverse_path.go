package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairReversePath() PairRule {
	return PairRule{
		ID:     "pair-reverse-path-drops",
		Limits: []model.LimiterID{model.Outage},
		Doc:    "The other host drops everything that one host sends: its route back leads through another interface, and its reverse path filter is strict.",
		Check: func(p *model.Pair) []model.Finding {
			return eachWay(p, func(from, to *model.PairEnd, c model.Crossing) *model.Finding {
				through, ok := c.Through.Get()
				l, ok2 := to.Leaving.Get()
				m := meant(to)
				if !ok || !ok2 || through || m == nil || l.Interface == m.Name || !from.Addr.Is4() || m.RPFilter.Or(0) != 1 {
					return nil
				}
				return &model.Finding{
					Severity: High, Host: to.Name,
					Title:    fmt.Sprintf("%s drops what %s sends: its route back is by another port", to.Name, from.Name),
					Observed: fmt.Sprintf("no datagram from %s to %s arrives; on %s rp_filter is 1 on %s and the route to %s is by %s%s", from.Addr, to.Addr, to.Name, m.Name, from.Addr, l.Interface, via(l)),
					Fix:      fmt.Sprintf("on %s lead %s back by %s; rp_filter=2 (loose) lets the packets in, but answers still take the other port", to.Name, from.Addr, m.Name),
					Source:   "RFC 3704 section 2.2; Documentation/networking/ip-sysctl.rst (rp_filter)",
				}
			})
		},
	}
}
