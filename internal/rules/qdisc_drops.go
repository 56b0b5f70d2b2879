package rules

import (
	"fmt"

	"linerate/internal/model"
)

// qdiscDrops: this host drops packets in its own queue before they reach the wire.
func qdiscDrops() Rule {
	return Rule{
		ID:  "qdisc-drops",
		Doc: "This host drops packets in its own queue before they reach the wire.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				drops, ok := counter(n, "qdisc_drops")
				sent, _ := counter(n, "tx_packets")
				if !ok || drops < 1000 || float64(drops) < 1e-4*float64(sent) {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: n.Name + " drops packets before it sends them",
					Observed: fmt.Sprintf("%s: qdisc %s dropped %d, %d packets sent", n.Name, n.Qdisc, drops, sent),
					Fix:      "see with tc -s qdisc what drops; fq or fq_codel keep the drops to the flows that cause them",
					Source:   "tc(8); Documentation/networking/statistics.rst",
				}
			})
		},
	}
}
