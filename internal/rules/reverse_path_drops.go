package rules

import (
	"fmt"

	"linerate/internal/model"
)

func reversePathDrops() Rule {
	return Rule{
		ID:     "reverse-path-drops",
		Limits: []model.LimiterID{model.Outage},
		Doc:    "Packets were dropped because their answer would leave by another interface.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 100, 1e-4, ofStack("Ip.InReceives", "TcpExt.IPReversePathFilter"))
			if t == nil {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Low), Title: "packets arrive through another interface than answers leave by",
				Observed: fmt.Sprintf("IPReversePathFilter %d of %d packets %s", t.bad, t.all, t.over(sinceBoot)),
				Fix:      "repair the routes so that both ways use one interface, or set rp_filter to 2",
				Source:   "Documentation/networking/ip-sysctl.rst (rp_filter); RFC 3704",
			}}
		},
	}
}
