package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// 25GBASE-R links may run without FEC on short cables, so FEC off is a fault only where the
// port counts damaged frames.
func fecOff() Rule {
	return Rule{
		ID:     "fec-off-with-errors",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "A fast link without forward error correction loses frames that it would have repaired.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				mode, ok := n.FEC.Get()
				t := c.tally(f, 10, damagedShare/100, ofPort(n, "rx_packets", "rx_crc_errors"))
				if !ok || mode != "Off" || n.Speed.Or(0) < 25*unit.Gbit || t == nil {
					return nil
				}
				return &model.Finding{
					Severity: t.severity(Medium), Title: n.Name + "  has bit errors and no error correction",
					Observed: fmt.Sprintf("%s at %s: FEC off, %d frames with a wrong checksum %s", n.Name, n.Speed.Value, t.bad, t.over(sinceSetUp)),
					Fix:      "turn on the FEC that module and switch support, the same at both ends",
					Source:   "IEEE 802.3 clauses 91 (RS-FEC), 108 (25GBASE-R RS-FEC) and 110 (cables that need none)",
				}
			})
		},
	}
}
