package rules

import (
	"linerate/internal/model"
)

func ccYields() Rule {
	return Rule{
		ID:     "congestion-control-yields",
		Limits: []model.LimiterID{model.CongestionControl},
		Doc:    "TCP-LP by design uses only the bandwidth that others leave; Vegas backs off as soon as a queue forms, so that loss-based traffic on the same path takes its share.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := sysctl(f, "tcp_congestion_control")
			if !ok || v != "lp" && v != "vegas" {
				return nil
			}
			return []model.Finding{{
				Severity: Medium, Title: "new connections give way to others",
				Observed: "net.ipv4.tcp_congestion_control = " + v,
				Fix:      "set it to cubic, its default, unless this host is to use only what is left over",
				Source:   "net/ipv4/Kconfig (TCP_CONG_LP, TCP_CONG_VEGAS); RFC 6297 (less-than-best-effort transport)",
			}}
		},
	}
}
