package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func lacpSplit() Rule {
	return Rule{
		ID:     "lacp-split",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "The ports of an LACP bond are in different groups: only one of the groups carries data.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				if !isLACP(b) {
					return nil
				}
				groups, speed, known := map[string]unit.BitRate{}, unit.BitRate(0), true
				for _, p := range b.Ports {
					if p.Up && p.Aggregator != "" {
						groups[p.Aggregator], known = groups[p.Aggregator]+p.Speed, known && p.Speed > 0
						speed = max(speed, groups[p.Aggregator])
					}
				}
				if len(groups) < 2 {
					return nil
				}
				out := &model.Finding{
					Severity: High, Title: "the ports of " + n.Name + " are not in one group",
					Observed: fmt.Sprintf("%s: ports that are up belong to %d aggregators", n.Name, len(groups)),
					Fix:      "put all its switch ports into one LACP group with the same key and speed",
					Source:   "IEEE 802.1AX; Documentation/networking/bonding.rst (802.3ad)",
				}
				if known {
					out.Bound = &speed
					out.Observed += fmt.Sprintf("; one of them carries %s at most", speed)
				}
				return out
			})
		},
	}
}
