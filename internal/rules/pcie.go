package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// tlpShare is what packet headers leave of a PCIe link at the usual payloads of
// 128 to 256 bytes per packet with 20 to 28 bytes of framing and header.
const tlpShare = 0.85

// pcieSlot: the link between NIC and slot against the speed of the port.
func pcieSlot() Rule {
	return Rule{
		ID:  "pcie-below-port",
		Doc: "The PCIe link of a NIC carries less than its port: a wrong slot, a riser, or a link that trained low.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, n := range f.NICs {
				slot, ok := n.PCI.Get()
				if !ok || slot.GTs <= 0 || slot.Lanes <= 0 {
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
	capacity := PCIeRate(slot.GTs, slot.Lanes)
	speed, known := n.Speed.Get()
	low := slot.GTs < slot.MaxGTs || slot.Lanes < slot.MaxLanes
	found := model.Finding{
		Observed: fmt.Sprintf("%s at %s runs %g GT/s x%d (%s before packet headers), the device can %g GT/s x%d", n.Name, slot.Address, slot.GTs, slot.Lanes, capacity, slot.MaxGTs, slot.MaxLanes),
		Fix:      fmt.Sprintf("move %s to a slot of %g GT/s x%d, or see in the firmware setup why the link trained lower", n.Name, slot.MaxGTs, slot.MaxLanes),
		Source:   "PCI Express Base Specification: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s",
	}
	switch {
	case known && capacity*tlpShare < speed:
		found.Severity, found.Title, found.Bound = High, fmt.Sprintf("the slot of %s carries less than its port (%s)", n.Name, speed), &capacity
		if !low {
			found.Fix = fmt.Sprintf("use a NIC with more lanes than %s has, or split the load over two", n.Name)
		}
	case low:
		found.Severity, found.Title = Low, fmt.Sprintf("the PCIe link of %s trained below what the device can", n.Name)
	default:
		return model.Finding{}, false
	}
	return found, true
}

// PCIeRate is what a PCIe link carries in one direction, after line coding and
// before packet headers: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, and 242
// of 256 bytes of a flit at 64 GT/s.
func PCIeRate(gts float64, lanes int) unit.BitRate {
	coding := 128.0 / 130
	switch {
	case gts <= 5:
		coding = 0.8
	case gts > 32:
		coding = 242.0 / 256
	}
	return unit.BitRate(gts * 1e9 * coding * float64(lanes))
}
