package rules

import (
	"fmt"

	"linerate/internal/model"
)

// pcieErrors: the PCIe link of a NIC repairs errors again and again: each is sent once more, and the link may fall back.
func pcieErrors() Rule {
	return Rule{
		ID:  "pcie-errors",
		Doc: "The PCIe link of a NIC repairs errors again and again: each is sent once more, and the link may fall back.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				bad, ok := n.PCIErrors.Get()
				if !ok || bad < 1000 {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: "the PCIe link of " + n.Name + " has errors",
					Observed: fmt.Sprintf("%s: %d corrected errors since the host started", n.Name, bad),
					Fix:      "reseat the card, try another slot or riser; look at ASPM",
					Source:   "Documentation/PCI/pcieaer-howto.rst",
				}
			})
		},
	}
}
