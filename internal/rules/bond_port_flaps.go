package rules

import (
	"fmt"

	"linerate/internal/model"
)

func bondPortFlaps() Rule {
	return Rule{
		ID:     "bond-port-flaps",
		Limits: []model.LimiterID{model.Outage},
		Doc:    "A port of a bond loses its link again and again; each time its connections move and stall.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachBond(f, func(n model.NIC, b model.Bond) *model.Finding {
				for i, p := range b.Ports {
					t := c.tally(f, 10, 0, ofBondPort(n.Name, i, p.Name))
					up, known := f.Uptime.Get()
					if t == nil || t.gap == 0 && (!known || float64(t.bad) < flapsADay/2*max(1, up.Hours()/24)) {
						continue
					}
					out := &model.Finding{
						Severity: Info, Title: fmt.Sprintf("port %s of %s comes and goes", p.Name, n.Name),
						Observed: fmt.Sprintf("%s: link failure count %d, %s", p.Name, t.bad, t.over("since it joined")),
						Fix:      "check the cable and the module of " + p.Name,
						Source:   "Documentation/networking/bonding.rst (Link Failure Count)",
					}
					if t.gap > 0 {
						out.Severity = Medium
					}
					return out
				}
				return nil
			})
		},
	}
}

// ofBondPort reads the link failures of port i of a bond, if that port still has this name.
func ofBondPort(bond string, i int, port string) func(*model.Facts) (int64, int64, bool) {
	return func(f *model.Facts) (int64, int64, bool) {
		n := nicNamed(f, bond)
		if n == nil {
			return 0, 0, false
		}
		b, ok := n.Bond.Get()
		if !ok || i >= len(b.Ports) || b.Ports[i].Name != port {
			return 0, 0, false
		}
		return int64(b.Ports[i].Failures), 0, true
	}
}
