package rules

import (
	"fmt"

	"linerate/internal/model"
)

// crcErrors: frames arrive damaged: a bad cable, module or connector loses them, and each loss makes TCP slow down.
func crcErrors() Rule {
	return Rule{
		ID:  "crc-errors",
		Doc: "Frames arrive damaged: a bad cable, module or connector loses them, and each loss makes TCP slow down.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				bad, ok := counter(n, "rx_crc_errors")
				packets, _ := counter(n, "rx_packets")
				if !ok || bad < 10 || packets <= 0 || float64(bad) < 1e-6*float64(packets) {
					return nil
				}
				out := &model.Finding{
					Severity: Medium, Title: "frames arrive damaged at " + n.Name,
					Observed: fmt.Sprintf("%s: %d of %d frames failed their checksum (1 in %d)", n.Name, bad, packets, packets/bad),
					Fix:      "replace the cable and the modules at both ends of " + n.Name + ", one at a time, and watch the counter",
					Source:   "IEEE 802.3 clause 4.2.4.1.2 (frame check); RFC 3819 section 8.3 (loss and TCP)",
				}
				if float64(bad) > 1e-4*float64(packets) {
					out.Severity = High
				}
				return out
			})
		},
	}
}
