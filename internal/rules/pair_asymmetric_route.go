package rules

import (
	"fmt"

	"linerate/internal/model"
)

// Causes are policy routing and several gateways; a wrong port and ARP flux have rules of
// their own.
func pairAsymmetric() PairRule {
	return PairRule{
		ID:  "pair-asymmetric-route",
		Doc: "A host answers through another interface than the one on which the other's traffic arrives: acknowledgements take another path than data, where firewalls and filters expect both.",
		Check: func(p *model.Pair) []model.Finding {
			for _, e := range [][2]*model.PairEnd{{&p.A, &p.B}, {&p.B, &p.A}} {
				_, wrong := wrongPort(e[0], e[1])
				if _, ports := inFlux(e[0], e[1]); wrong || len(ports) > 0 {
					return nil // another rule reports that cause
				}
			}
			return eachWay(p, func(_, to *model.PairEnd, c model.Crossing) *model.Finding {
				l, ok := to.Leaving.Get()
				if !ok || len(c.ArrivedBy) != 1 || c.ArrivedBy[0] == l.Interface || to.Facts == nil || samePort(to.Facts, c.ArrivedBy[0], l.Interface) {
					return nil
				}
				from := &p.A
				if to == from {
					from = &p.B
				}
				return &model.Finding{
					Severity: Medium, Host: to.Name,
					Title:    fmt.Sprintf("%s takes what %s sends by %s and answers by %s", to.Name, from.Name, c.ArrivedBy[0], l.Interface),
					Observed: fmt.Sprintf("packets from %s to %s came in by %s; its route back to %s is by %s%s", from.Addr, to.Addr, c.ArrivedBy[0], from.Addr, l.Interface, via(l)),
					Fix:      fmt.Sprintf("give %s one way to %s: one interface per network, or a routing rule per source address (ip rule add from %s)", to.Name, from.Name, to.Addr),
					Source:   "RFC 3704 section 2.2; ip-rule(8)",
				}
			})
		},
	}
}
