package rules

import (
	"fmt"

	"linerate/internal/model"
)

func fragmentsLost() Rule {
	return Rule{
		ID:     "fragments-lost",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "Fragments that never become whole are lost packets: NFS over UDP, or a tunnel above its MTU.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 1000, 0.01, ofStack("Ip.ReasmReqds", "Ip.ReasmFails"))
			if t == nil || t.all == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Low), Title: "fragments do not come together",
				Observed: fmt.Sprintf("%d failed reassemblies at %d fragments %s", t.bad, t.all, t.over(sinceBoot)),
				Fix:      "use TCP, or an MTU that every hop can carry, so that nothing is fragmented",
				Source:   "RFC 4293 (ipSystemStatsReasmFails); RFC 8900; RFC 4963 (reassembly errors at high rates)",
			}}
		},
	}
}
