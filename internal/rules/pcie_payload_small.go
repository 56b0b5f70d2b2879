package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/size"
)

func pciePayload() Rule {
	return Rule{
		ID:     "pcie-payload-small",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "With small PCIe packets their headers take a larger share of the slot: a sixth at 128 bytes, a twelfth at 256.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				p, ok := n.Payload.Get()
				slot, ok2 := n.PCI.Get()
				speed, known := n.Speed.Get()
				if !ok || !ok2 || p.Payload >= p.PayloadMax || slot.Lanes <= 0 {
					return nil
				}
				link := size.SlotRate(slot.GTs, slot.Lanes)
				now, could := size.SlotPayload(link, p.Payload), size.SlotPayload(link, p.PayloadMax)
				if !known || now >= speed {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: "the PCIe packets of " + n.Name + " are small for its port", Bound: &now,
					Observed: fmt.Sprintf("%s: MaxPayload %d of %d bytes, %s × %d/(%d + %d) for a port of %s; with %d it were %s", n.Name, p.Payload, p.PayloadMax, link, p.Payload, p.Payload, size.PacketOverhead, speed, p.PayloadMax, could),
					Fix:      "let the firmware setup, or pci=pcie_bus_perf on the kernel's command line, choose the largest that all devices on the way take",
					Source:   "PCI Express Base Specification section 7.5.3.4 (Max_Payload_Size); CIT, Evaluation of 40 Gigabit Ethernet technology for data servers; Documentation/admin-guide/kernel-parameters.txt (pcie_bus_perf)",
				}
			})
		},
	}
}
