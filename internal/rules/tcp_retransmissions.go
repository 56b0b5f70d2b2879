package rules

import (
	"fmt"

	"linerate/internal/model"
)

func retransmissions() Rule {
	return Rule{
		ID:     "tcp-retransmissions",
		Limits: []model.LimiterID{model.PathLoss, model.PathQueue},
		Doc:    "This host retransmits much of what it sends: segments are lost somewhere on its paths.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 1000, 1e-3, ofStack("Tcp.OutSegs", "Tcp.RetransSegs"))
			if t == nil || t.gap == 0 && t.all < 1e6 || t.all < settled {
				return nil
			}
			full := Low
			if t.share() >= 0.01 {
				full = Medium
			}
			return []model.Finding{{
				Severity: t.severity(full), Title: "many segments are retransmitted",
				Observed: fmt.Sprintf("%d retransmissions beside %d segments (%.2f%%), over all paths, %s", t.bad, t.all, 100*t.share(), t.over(sinceBoot)),
				Fix:      "find the path with ss -ti, or watch a slow transfer with linerate explain",
				Source:   "RFC 4022 (tcpRetransSegs, tcpOutSegs); Mathis et al., CCR 27(3), 1997 (rate against loss)",
			}}
		},
	}
}
