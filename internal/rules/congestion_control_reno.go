package rules

import (
	"fmt"

	"linerate/internal/model"
)

func ccReno() Rule {
	return Rule{
		ID:     "congestion-control-reno",
		Limits: []model.LimiterID{model.CongestionControl},
		Doc:    "Reno gains one segment per round trip: after a loss on a long fast path it needs minutes to fill it again.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			v, ok := sysctl(f, "tcp_congestion_control")
			window := float64(c.BDP()) / 1448
			if !ok || v != "reno" || window < 1000 {
				return nil
			}
			return []model.Finding{{
				Severity: Medium, Title: "Reno does not fill this path",
				Observed: fmt.Sprintf("net.ipv4.tcp_congestion_control = reno; %s at %v need %.0f segments in flight, and half of them are regained at one per %v", c.LineRate, c.RTT, window, c.RTT),
				Fix:      "set it to cubic, its default, or bbr",
				Source:   "RFC 5681 section 3.1; RFC 9438 section 1",
			}}
		},
	}
}
