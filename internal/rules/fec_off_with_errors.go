package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// fecOff: a fast link without forward error correction loses frames that it would have repaired.
func fecOff() Rule {
	return Rule{
		ID:  "fec-off-with-errors",
		Doc: "A fast link without forward error correction loses frames that it would have repaired.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				mode, ok := n.FEC.Get()
				bad, _ := counter(n, "rx_crc_errors")
				if !ok || mode != "Off" || n.Speed.Or(0) < 25*unit.Gbit || bad < 10 {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: n.Name + " has errors and corrects none",
					Observed: fmt.Sprintf("%s at %s: FEC off, %d frames with a wrong checksum", n.Name, n.Speed.Value, bad),
					Fix:      "turn on the FEC that module and switch support, the same at both ends",
					Source:   "IEEE 802.3 clauses 91 and 108",
				}
			})
		},
	}
}
