package rules

import (
	"fmt"

	"linerate/internal/model"
)

// fecUncorrectable: forward error correction gives up on blocks: the frames in them are lost, and the link is near its end.
func fecUncorrectable() Rule {
	return Rule{
		ID:  "fec-uncorrectable",
		Doc: "Forward error correction gives up on blocks: the frames in them are lost, and the link is near its end.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				bad, ok := counter(n, "fec_uncorrectable")
				if !ok || bad < 1000 {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: "error correction gives up on " + n.Name,
					Observed: fmt.Sprintf("%s: %d blocks beyond repair since it was set up", n.Name, bad),
					Fix:      "clean or replace the optics or the cable of " + n.Name,
					Source:   "IEEE 802.3 clause 91; Documentation/networking/ethtool-netlink.rst (FEC statistics)",
				}
			})
		},
	}
}
