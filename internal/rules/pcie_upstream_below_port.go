package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/size"
)

func pcieUpstream() Rule {
	return Rule{
		ID:     "pcie-upstream-below-port",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A link between the slot of a NIC and the root of the bus carries less than the port: it trained low, or the slot hangs behind a narrow bridge.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				speed, known := n.Speed.Get()
				links, ok := n.Upstream.Get()
				own := n.PCI.Or(model.PCISlot{})
				if !known || !ok {
					return nil
				}
				for _, l := range links {
					capacity := size.SlotRate(l.GTs, l.Lanes)
					narrower := own.Lanes == 0 || capacity < size.SlotRate(own.GTs, own.Lanes) // else pcie-below-port
					if l.Lanes <= 0 || l.Tunnel || !narrower || afterHeaders(n, capacity) >= speed {
						continue
					}
					return &model.Finding{
						Severity: High, Title: fmt.Sprintf("the bus behind %s carries less than its port (%s)", n.Name, speed), Bound: &capacity,
						Observed: fmt.Sprintf("bridge %s on the way to %s runs %g GT/s x%d (%s before packet headers), it can %g GT/s x%d", l.Address, n.Name, l.GTs, l.Lanes, capacity, l.MaxGTs, l.MaxLanes),
						Fix:      fmt.Sprintf("move %s to a slot on another root port, or see in the firmware setup why the link trained low", n.Name),
						Source:   "PCI Express Base Specification: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s; Documentation/ABI/testing/sysfs-bus-pci (current_link_speed)",
					}
				}
				return nil
			})
		},
	}
}
