package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pcieErrors() Rule {
	return Rule{
		ID:     "pcie-errors",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "The PCIe link of a NIC repairs errors again and again: each packet is sent once more, and the link may fall back.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				t := c.tally(f, 1000, 0, func(f *model.Facts) (int64, int64, bool) {
					port := nicNamed(f, n.Name)
					if port == nil || port.Device != n.Device {
						return 0, 0, false
					}
					bad, ok := port.PCIErrors.Get()
					return bad, 0, ok
				})
				if t == nil {
					return nil
				}
				return &model.Finding{
					Severity: t.severity(Low), Title: "the PCIe link of " + n.Name + " has errors",
					Observed: fmt.Sprintf("%s: %d corrected errors %s", n.Name, t.bad, t.over(sinceBoot)),
					Fix:      "reseat the card, try another slot or riser; look at ASPM",
					Source:   "Documentation/PCI/pcieaer-howto.rst; Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats",
				}
			})
		},
	}
}
