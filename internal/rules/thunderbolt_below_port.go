package rules

import (
	"fmt"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// The facts do not show which connector leads to the port, so the fastest one bounds it.
func thunderboltSlow() Rule {
	return Rule{
		ID:     "thunderbolt-below-port",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A NIC behind Thunderbolt or USB4 shares that cable's rate, which may be less than its port's, with disks and displays.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var most unit.BitRate
			for _, d := range f.Thunderbolt {
				most = max(most, d.Rate)
			}
			return eachPort(f, func(n model.NIC) *model.Finding {
				speed, known := n.Speed.Get()
				if !known || most <= 0 || most >= speed || !tunnelled(n) {
					return nil
				}
				return &model.Finding{
					Severity: High, Title: fmt.Sprintf("the Thunderbolt cable of %s carries less than its port (%s)", n.Name, speed), Bound: &most,
					Observed: fmt.Sprintf("%s is behind Thunderbolt or USB4, of which the fastest cable runs at %s", n.Name, most),
					Fix:      "plug the adapter straight into a faster port of the machine, with a cable made for that rate and no display on it",
					Source:   "Documentation/ABI/testing/sysfs-bus-thunderbolt (tx_speed, tx_lanes); ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide (slots)",
				}
			})
		},
	}
}

// tunnelled tells whether the card, or a bridge above it, is behind Thunderbolt or USB4. The
// speeds of the PCIe links on that way are not what they carry: tunnels have no link of their own
// (Documentation/ABI/testing/sysfs-devices-removable).
func tunnelled(n model.NIC) bool {
	return n.PCI.Or(model.PCISlot{}).Tunnel || slices.ContainsFunc(n.Upstream.Or(nil), func(l model.PCISlot) bool { return l.Tunnel })
}
