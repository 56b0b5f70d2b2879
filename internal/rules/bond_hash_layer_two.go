package rules

import (
	"fmt"

	"linerate/internal/model"
)

func bondHash() Rule {
	return Rule{
		ID:     "bond-hash-layer-two",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A hash of MAC addresses puts all connections to one server, or to one router, on the same port.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				if b.Hash != "layer2" || upPorts(b) < 2 {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: "all connections to one server share one port of " + n.Name,
					Observed: fmt.Sprintf("%s: transmit hash policy layer2, %d ports", n.Name, upPorts(b)),
					Fix:      "set xmit_hash_policy to layer3+4, and the corresponding hash on the switch",
					Source:   "Documentation/networking/bonding.rst (xmit_hash_policy)",
				}
				for _, m := range f.Storage {
					if m.Dev == n.Name && m.Conns.Or(0) > 1 {
						out.Severity = Medium
						out.Observed += fmt.Sprintf("; the %d connections of %s go over one of them", m.Conns.Value, m.Point)
					}
				}
				return out
			})
		},
	}
}
