package rules

import (
	"fmt"

	"linerate/internal/model"
)

func mtuProbing() Rule {
	return Rule{
		ID:     "mtu-probing-off",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "With jumbo frames and without MTU probing, a switch that silently drops them stalls a connection for good.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := sysctl(f, "tcp_mtu_probing")
			if !ok || v != "0" {
				return nil
			}
			jumbo := eachPort(f, func(n model.NIC) *model.Finding {
				if n.MTU <= 1500 || len(n.Addrs) == 0 {
					return nil
				}
				return &model.Finding{Title: n.Name}
			})
			if len(jumbo) == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "TCP does not notice when jumbo frames are dropped",
				Observed: fmt.Sprintf("net.ipv4.tcp_mtu_probing = 0, %s sends jumbo frames", jumbo[0].Title),
				Fix:      "set net.ipv4.tcp_mtu_probing to 1: it acts only after a connection has stalled",
				Source:   "RFC 4821; Documentation/networking/ip-sysctl.rst (tcp_mtu_probing)",
			}}
		},
	}
}
