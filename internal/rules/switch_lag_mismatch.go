package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
)

func switchGroup() Rule {
	return Rule{
		ID:     "switch-lag-mismatch",
		Limits: []model.LimiterID{model.LinkRate, model.PathLoss},
		Doc:    "Host and switch do not agree on which ports are aggregated: frames for one port arrive at another, or all traffic uses a single port.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			out := eachSwitchPort(f, func(n *model.NIC, p model.SwitchPort) *model.Finding {
				g, ok := p.Group.Get()
				if !ok || g == "" || n.Master != "" || !n.Up {
					return nil
				}
				return &model.Finding{
					Severity: Medium,
					Title:    fmt.Sprintf("the switch has %s in a group, the host has not", n.Name),
					Observed: fmt.Sprintf("%s is in group %s; %s is no port of a bond", switchPortText(p), g, n.Name),
					Fix:      "make a bond of the ports on the host, or take the port out of the group on the switch",
					Source:   "IEEE 802.1AX clause 6; IEEE8023-LAG-MIB",
				}
			})
			return append(out, eachBond(f, func(n model.NIC, b model.Bond) *model.Finding { return splitGroup(f, n, b) })...)
		},
	}
}

// splitGroup finds an LACP bond whose ports are in several groups of the switch, or in none. SNMP
// and LLDP name groups differently, so each source is judged by itself.
func splitGroup(f *model.Facts, n model.NIC, b model.Bond) *model.Finding {
	if !isLACP(b) || agreed(b) {
		return nil // LACP's own state outweighs what the switch announces
	}
	groups := map[string]map[string]bool{} // by source
	said := map[string][]string{}
	for _, p := range f.Switches {
		member := nicNamed(f, p.Interface)
		g, ok := p.Group.Get()
		if !ok || member == nil || member.Master != n.Name {
			continue
		}
		source := p.Source + " " + p.Chassis // ports of two switches (MLAG) cannot be compared
		if groups[source] == nil {
			groups[source] = map[string]bool{}
		}
		groups[source][g] = true
		if g == "" {
			g = "none"
		}
		said[source] = append(said[source], fmt.Sprintf("%s at %s: group %s", p.Interface, switchPortText(p), g))
	}
	for _, source := range slices.Sorted(maps.Keys(groups)) {
		g := groups[source]
		if len(g) > 1 || g[""] {
			return &model.Finding{
				Severity: High,
				Title:    fmt.Sprintf("the switch has the ports of %s in different groups, or in none", n.Name),
				Observed: strings.Join(said[source], "; "),
				Fix:      fmt.Sprintf("put the switch ports of %s into one LACP group", n.Name),
				Source:   "IEEE 802.1AX clause 6; IEEE8023-LAG-MIB; Documentation/networking/bonding.rst (802.3ad)",
			}
		}
	}
	return nil
}

// agreed tells whether LACP has all ports of a bond that are up in one group with one partner.
func agreed(b model.Bond) bool {
	for _, p := range b.Ports {
		if p.Up && p.Aggregator != b.Ports[0].Aggregator {
			return false
		}
	}
	return b.Partner != ""
}
