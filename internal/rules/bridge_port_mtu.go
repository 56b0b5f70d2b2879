package rules

import (
	"fmt"

	"linerate/internal/model"
)

func bridgePortMTU() Rule {
	return Rule{
		ID:     "bridge-port-mtu",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "A bridge drops frames that are larger than the MTU of the port they are to leave by; it does not fragment.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachNIC(f, func(n model.NIC) *model.Finding {
				b := nicNamed(f, n.Master)
				if b == nil || b.Kind != "bridge" || n.MTU <= 0 || n.MTU >= b.MTU {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("bridge %s sends frames that its port %s drops", b.Name, n.Name),
					Observed: fmt.Sprintf("%s MTU %d, port %s MTU %d", b.Name, b.MTU, n.Name, n.MTU),
					Fix:      fmt.Sprintf("set the MTU of %s to %d, or that of %s to %d", n.Name, b.MTU, b.Name, n.MTU),
					Source:   "net/bridge/br_forward.c (is_skb_forwardable)",
				}
			})
		},
	}
}
