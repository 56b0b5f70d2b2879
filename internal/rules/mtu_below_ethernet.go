package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func mtuBelow() Rule {
	return Rule{
		ID:     "mtu-below-ethernet",
		Limits: []model.LimiterID{model.LinkRate, model.PacketCost},
		Doc:    "An MTU below 1500 spends more of the link on headers and more CPU on packets; tunnels need it, plain Ethernet does not.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				if n.MTU <= 0 || n.MTU >= 1500 || len(n.Addrs) == 0 {
					return nil
				}
				out := &model.Finding{
					Severity: Info, Title: n.Name + " sends frames smaller than Ethernet's",
					Observed: fmt.Sprintf("%s: MTU %d", n.Name, n.MTU),
					Fix:      "unless a tunnel or the provider asks for it, set the MTU of " + n.Name + " to 1500",
					Source:   "RFC 894; IEEE 802.3 clause 3.2.7",
				}
				// Framing adds 38 bytes around each packet; IPv4 and TCP headers take 40 bytes of
				// it.
				if speed, ok := n.Speed.Get(); ok && n.MTU > 68 {
					bound := unit.BitRate(float64(speed) * float64(n.MTU-40) / float64(n.MTU+38))
					out.Bound = &bound
					out.Observed += fmt.Sprintf(": %s × (%d − 40)/(%d + 38) is left for payload", speed, n.MTU, n.MTU)
				}
				return out
			})
		},
	}
}
