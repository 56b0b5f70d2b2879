package rules

import (
	"fmt"

	"linerate/internal/model"
)

func bbrPacing() Rule {
	return Rule{
		ID:     "bbr-without-fq",
		Limits: []model.LimiterID{model.PathQueue},
		Doc:    "BBR before Linux 4.13 paces only with the queueing discipline fq; without it, it sends bursts that the path drops.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := sysctl(f, "tcp_congestion_control")
			if !ok || v != "bbr" || !olderThan(f.Kernel, 4, 13) {
				return nil
			}
			return eachPort(f, func(n model.NIC) *model.Finding {
				if n.Qdisc == "fq" || n.Qdisc == "mq" || n.Qdisc == "" || len(n.Addrs) == 0 {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: "BBR is not paced on " + n.Name,
					Observed: fmt.Sprintf("kernel %s, congestion control bbr, %s has qdisc %s", f.Kernel, n.Name, n.Qdisc),
					Fix:      "set the root qdisc of " + n.Name + " to fq, or use Linux 4.13 or later",
					Source:   "Linux commit 218af599fa63 (tcp: internal implementation for pacing)",
				}
			})
		},
	}
}
