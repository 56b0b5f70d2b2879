package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairSpeeds() PairRule {
	return PairRule{
		ID:     "pair-speeds-differ",
		Limits: []model.LimiterID{model.LinkRate, model.PathQueue},
		Doc:    "The ports of the two ends have different speeds: the slower bounds the path, and bursts of the faster wait, or are lost, in the switch before it.",
		Check: func(p *model.Pair) []model.Finding {
			a, b := meant(&p.A), meant(&p.B)
			x, y := portSpeed(a), portSpeed(b)
			if x == 0 || y == 0 || x == y {
				return nil
			}
			slow := min(x, y)
			return []model.Finding{{
				Severity: Info,
				Title:    fmt.Sprintf("the ports of %s and %s differ in speed", p.A.Name, p.B.Name),
				Observed: fmt.Sprintf("%s %s runs %s, %s %s runs %s", p.A.Name, a.Name, x, p.B.Name, b.Name, y),
				Bound:    &slow,
				Fix:      "none if that is intended; make sure that the switch's buffer or flow control absorbs the bursts",
				Source:   "IEEE 802.3 annex 31B",
			}}
		},
	}
}
