package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairMTUDiffers() PairRule {
	return PairRule{
		ID:     "pair-mtu-differs",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "The two ends of one network have different MTUs: TCP falls back to the smaller by its MSS, everything else (UDP, IPsec) loses the large packets without a message.",
		Check: func(p *model.Pair) []model.Finding {
			a, b := meant(&p.A), meant(&p.B)
			if a == nil || b == nil || a.MTU == b.MTU || !onLink(&p.A) || !onLink(&p.B) {
				return nil
			}
			small, large := &p.A, &p.B
			if a.MTU > b.MTU {
				small, large = large, small
			}
			return []model.Finding{{
				Severity: Medium, Host: small.Name,
				Title:    fmt.Sprintf("%s and %s have different MTUs in one network", p.A.Name, p.B.Name),
				Observed: fmt.Sprintf("%s %s has MTU %d, %s %s has %d", p.A.Name, a.Name, a.MTU, p.B.Name, b.Name, b.MTU),
				Fix:      fmt.Sprintf("set one MTU in the whole network: %d at %s too if every port between can carry it, else %d at %s", max(a.MTU, b.MTU), small.Name, min(a.MTU, b.MTU), large.Name),
				Source:   "RFC 9293 section 3.7.1; RFC 8899 section 1",
			}}
		},
	}
}

// onLink reports whether an end reaches the other without a gateway, through the meant
// interface. An end whose route is unknown counts as on-link.
func onLink(e *model.PairEnd) bool {
	l, ok := e.Leaving.Get()
	return !ok || !l.Gateway.IsValid() && l.Interface == e.Meant
}
