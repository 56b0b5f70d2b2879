package rules

import (
	"fmt"

	"linerate/internal/model"
)

func portSlower() Rule {
	return Rule{
		ID:     "port-slower-than-it-can",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A port runs below its highest speed, for example a 10 Gbit/s port on a 1 Gbit/s switch.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				m, ok := n.Modes.Get()
				speed, known := n.Speed.Get()
				if !ok || !known || speed <= 0 || speed >= m.Supported || m.Autoneg && speed < min(m.Advertised, m.Peer) {
					return nil
				}
				return &model.Finding{
					Severity: Info, Title: n.Name + " could run faster", Bound: &speed,
					Observed: fmt.Sprintf("%s: %s of %s", n.Name, speed, m.Supported),
					Fix:      "if data is to go over " + n.Name + ", use a switch port, module and cable of its speed",
					Source:   "ethtool(8), supported link modes",
				}
			})
		},
	}
}
