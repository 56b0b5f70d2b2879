package rules

import (
	"fmt"

	"linerate/internal/model"
)

func fecUncorrectable() Rule {
	return Rule{
		ID:     "fec-uncorrectable",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "Forward error correction gives up on blocks: the frames in them are lost.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				// A link counts some errors while it comes up.
				t := c.tally(f, 1000, 0, ofPort(n, "rx_packets", "fec_uncorrectable"))
				if t == nil {
					return nil
				}
				return &model.Finding{
					Severity: t.severity(Medium), Title: "error correction gives up on " + n.Name,
					Observed: fmt.Sprintf("%s: %d blocks beyond repair %s", n.Name, t.bad, t.over(sinceSetUp)),
					Fix:      "clean or replace the optics or the cable of " + n.Name,
					Source:   "IEEE 802.3 clause 30.5.1.1.18 (aFECUncorrectableBlocks); Documentation/networking/ethtool-netlink.rst (FEC_GET)",
				}
			})
		},
	}
}
