package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

func pcieBoth() Rule {
	return Rule{
		ID:     "pcie-both-ports",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "The ports of one card share its slot, which carries the rate of each but not the sum.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			done := map[string]bool{}
			for _, n := range f.NICs {
				slot, ok := n.PCI.Get()
				card, _, _ := strings.Cut(slot.Address, ".")
				if !ok || slot.Lanes <= 0 || slot.Tunnel || done[card] {
					continue
				}
				done[card] = true
				capacity, sum, names := size.SlotRate(slot.GTs, slot.Lanes), unit.BitRate(0), []string{}
				for _, o := range f.NICs {
					other, _, _ := strings.Cut(o.PCI.Or(model.PCISlot{}).Address, ".")
					if speed, known := o.Speed.Get(); known && o.Up && other == card {
						sum, names = sum+speed, append(names, o.Name)
					}
				}
				if len(names) < 2 || afterHeaders(n, capacity) >= sum {
					continue
				}
				out = append(out, model.Finding{
					Severity: Low, Title: "the ports of one card share a slot that carries less than all of them", Bound: &capacity,
					Observed: fmt.Sprintf("%s: together %s, slot %g GT/s x%d = %s before packet headers", strings.Join(names, ", "), sum, slot.GTs, slot.Lanes, capacity),
					Fix:      "if they are to be used at once, use two cards or a wider slot",
					Source:   "PCI Express Base Specification; ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide (slots)",
				})
			}
			return out
		},
	}
}
