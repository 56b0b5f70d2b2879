package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairPathMTU() PairRule {
	return PairRule{
		ID:     "pair-path-mtu-below-ends",
		Limits: []model.LimiterID{model.PacketCost},
		Doc:    "A hop on the path has a smaller MTU than both ends: TCP learns it by path MTU discovery, but the larger MTU of the ends gains nothing here.",
		Check: func(p *model.Pair) []model.Finding {
			return eachWay(p, func(from, to *model.PairEnd, c model.Crossing) *model.Finding {
				mtu, ok := c.PathMTU.Get()
				both := bothMTU(from, to, c)
				if !ok || both == 0 || mtu >= both || c.Told == 0 {
					return nil
				}
				return &model.Finding{
					Severity: Low,
					Title:    fmt.Sprintf("the way from %s to %s carries %d bytes, both ends could %d", from.Name, to.Name, mtu, both),
					Observed: fmt.Sprintf("packets above %d bytes do not arrive; %s says by ICMP that it carries %d", mtu, c.ToldBy, c.Told),
					Fix:      fmt.Sprintf("send the data past that hop, or let it carry %d bytes", both),
					Source:   "RFC 1191; RFC 8201",
				}
			})
		},
	}
}
