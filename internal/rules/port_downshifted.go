package rules

import (
	"fmt"

	"linerate/internal/model"
)

func portDownshifted() Rule {
	return Rule{
		ID:     "port-downshifted",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "Both ends of a link offer a higher speed than it runs at: the cable or a connector does not carry it.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				m, ok := n.Modes.Get()
				speed, known := n.Speed.Get()
				both := min(m.Advertised, m.Peer)
				if !ok || !known || !m.Autoneg || speed <= 0 || speed >= both {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: n.Name + " runs slower than both ends offer", Bound: &speed,
					Observed: fmt.Sprintf("%s: %s, while it advertises %s and its partner %s", n.Name, speed, m.Advertised, m.Peer),
					Fix:      "replace the cable of " + n.Name + ", clean its connectors, then look again",
					Source:   "IEEE 802.3 clause 28 (auto-negotiation picks the highest common mode); ethtool(8), downshift",
				}
			})
		},
	}
}
