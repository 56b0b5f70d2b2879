package rules

import (
	"fmt"

	"linerate/internal/model"
)

// damagedShare is the share of damaged frames from which there is a finding. Ethernet
// specifies a bit error ratio of 1e-12 (IEEE 802.3 clauses 49, 52, 85), about 1 frame of 1500
// bytes in 80 million; this is eighty times that.
const damagedShare = 1e-6

func crcErrors() Rule {
	return Rule{
		ID:     "crc-errors",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "Frames arrive damaged: they are lost to a bad cable, module or connector, and each loss makes TCP slow down.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				t := c.tally(f, 10, damagedShare, ofPort(n, "rx_packets", "rx_crc_errors"))
				if t == nil {
					return nil
				}
				full := Medium
				if t.share() > 100*damagedShare {
					full = High
				}
				return &model.Finding{
					Severity: t.severity(full), Title: "frames arrive damaged at " + n.Name,
					Observed: fmt.Sprintf("%s: %d of %d frames failed their checksum (1 in %d) %s", n.Name, t.bad, t.all, max(1, t.all/t.bad), t.over(sinceSetUp)),
					Fix:      "replace the cable and the modules at both ends of " + n.Name + ", one at a time, and watch the counter",
					Source:   "IEEE 802.3 clause 30.3.1.1.6 (aFrameCheckSequenceErrors); Documentation/networking/statistics.rst (rx_crc_errors); Mathis et al., CCR 27(3), 1997 (rate against loss)",
				}
			})
		},
	}
}
