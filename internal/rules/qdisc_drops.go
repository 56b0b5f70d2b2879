package rules

import (
	"fmt"

	"linerate/internal/model"
)

func qdiscDrops() Rule {
	return Rule{
		ID:     "qdisc-drops",
		Limits: []model.LimiterID{model.LocalQdisc},
		Doc:    "This host drops packets in its own queue before they reach the wire.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				t := c.tally(f, 1000, 1e-4, ofPort(n, "tx_packets", "qdisc_drops"))
				if t == nil {
					return nil
				}
				return &model.Finding{
					Severity: t.severity(Low), Title: n.Name + " drops packets before it sends them",
					Observed: fmt.Sprintf("%s: qdisc %s dropped %d, %d packets sent %s", n.Name, n.Qdisc, t.bad, t.all, t.over(sinceSetUp)),
					Fix:      "see with tc -s qdisc what drops; fq or fq_codel keep the drops to the flows that cause them",
					Source:   "tc(8); include/uapi/linux/gen_stats.h (struct gnet_stats_queue)",
				}
			})
		},
	}
}
