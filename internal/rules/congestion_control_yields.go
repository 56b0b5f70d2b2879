package rules

import (
	"linerate/internal/model"
)

// ccYields: this congestion control gives way to all other traffic on purpose.
func ccYields() Rule {
	return Rule{
		ID:  "congestion-control-yields",
		Doc: "This congestion control gives way to all other traffic on purpose.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := sysctl(f, "tcp_congestion_control")
			if !ok || v != "lp" && v != "vegas" {
				return nil
			}
			return []model.Finding{{
				Severity: Medium, Title: "new connections give way to all others",
				Observed: "net.ipv4.tcp_congestion_control = " + v,
				Fix:      "set it to cubic, its default, unless this host is to use only what is left over",
				Source:   "net/ipv4/Kconfig (TCP_CONG_LP, TCP_CONG_VEGAS)",
			}}
		},
	}
}
