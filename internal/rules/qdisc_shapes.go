package rules

import (
	"fmt"
	"slices"

	"linerate/internal/model"
)

func qdiscShapes() Rule {
	return Rule{
		ID:     "qdisc-shapes",
		Limits: []model.LimiterID{model.LocalQdisc},
		Doc:    "A queueing discipline that shapes, delays or drops on purpose caps everything that leaves by its interface.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachNIC(f, func(n model.NIC) *model.Finding {
				if !slices.Contains([]string{"tbf", "netem", "htb", "hfsc", "cbq"}, n.Qdisc) || len(n.Addrs) == 0 {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: "what leaves by " + n.Name + " is shaped",
					Observed: fmt.Sprintf("%s: root qdisc %s", n.Name, n.Qdisc),
					Fix:      "see with tc -s qdisc show dev " + n.Name + "  which rate is set, and decide whether it is still wanted",
					Source:   "tc(8)",
				}
				if n.Qdisc == "tbf" || n.Qdisc == "netem" {
					out.Severity = Medium
				}
				return out
			})
		},
	}
}
