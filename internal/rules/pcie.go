package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

func pcieSlot() Rule {
	return Rule{
		ID:     "pcie-below-port",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "The PCIe link of a NIC carries less than its port: a wrong slot, a riser, or a link that trained low.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, n := range f.NICs {
				slot, ok := n.PCI.Get()
				if !ok || slot.GTs <= 0 || slot.Lanes <= 0 || slot.Tunnel {
					continue
				}
				if found, ok := checkSlot(n, slot); ok {
					out = append(out, found)
				}
			}
			return out
		},
	}
}

func checkSlot(n model.NIC, slot model.PCISlot) (model.Finding, bool) {
	capacity := size.SlotRate(slot.GTs, slot.Lanes)
	speed, known := n.Speed.Get()
	low := slot.GTs < slot.MaxGTs || slot.Lanes < slot.MaxLanes
	found := model.Finding{
		Observed: fmt.Sprintf("%s at %s runs %g GT/s x%d (%s before packet headers), the device can %g GT/s x%d", n.Name, slot.Address, slot.GTs, slot.Lanes, capacity, slot.MaxGTs, slot.MaxLanes),
		Fix:      fmt.Sprintf("move %s to a slot of %g GT/s x%d, or see in the firmware setup why the link trained lower", n.Name, slot.MaxGTs, slot.MaxLanes),
		Source:   "PCI Express Base Specification: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s",
	}
	switch {
	case known && afterHeaders(n, capacity) < speed:
		found.Severity, found.Title, found.Bound = High, fmt.Sprintf("the slot of %s carries less than its port (%s)", n.Name, speed), &capacity
		if !low {
			found.Fix = fmt.Sprintf("use a NIC with more lanes than %s has, or split the load over two", n.Name)
		}
	case low:
		// Many cards run in a slot of an earlier generation that is still fast enough.
		found.Severity, found.Title = Info, fmt.Sprintf("the PCIe link of %s trained below what the device can", n.Name)
	default:
		return model.Finding{}, false
	}
	return found, true
}

// afterHeaders is the rate that packet headers leave of a PCIe link for data.
func afterHeaders(n model.NIC, link unit.BitRate) unit.BitRate {
	return size.SlotPayload(link, n.Payload.Or(model.PCIPayload{}).Payload)
}
