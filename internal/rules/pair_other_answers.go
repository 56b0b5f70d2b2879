package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairOtherAnswers() PairRule {
	return PairRule{
		ID:     "pair-other-machine-answers",
		Limits: []model.LimiterID{model.Outage},
		Doc:    "A hardware address that does not belong to the host answers for its data address: a second machine with the same address, or a proxy in the path.",
		Check: func(p *model.Pair) []model.Finding {
			return eachWay(p, func(from, to *model.PairEnd, c model.Crossing) *model.Finding {
				l, own, ok := nextHop(from, to)
				if !ok || len(own) > 0 {
					return nil
				}
				found := &model.Finding{
					Severity: Info, Host: to.Name, // in clouds the provider answers
					Title:    fmt.Sprintf("something else answers for %s of %s", to.Addr, to.Name),
					Observed: fmt.Sprintf("for %s %s knows %s, which is no interface of %s%s", to.Addr, from.Name, l.NextMAC, to.Name, arrived(c)),
					Fix:      fmt.Sprintf("find the port of %s in the switch's address table; remove the second machine with %s, or the proxy ARP, from the storage network", l.NextMAC, to.Addr),
					Source:   "RFC 5227 section 1; RFC 1027",
				}
				if through, known := c.Through.Get(); known && !through {
					found.Severity = High
				}
				return found
			})
		},
	}
}
