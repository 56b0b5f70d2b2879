package rules

import (
	"fmt"

	"linerate/internal/model"
)

// pauseSent: a port that sends many pause frames spends time standing still, and so does everybody behind the same switch buffer.
func pauseSent() Rule {
	return Rule{
		ID:  "pause-sent",
		Doc: "A port that sends many pause frames spends time standing still, and so does everybody behind the same switch buffer.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				frames, ok := counter(n, "tx_pause_frames")
				packets, _ := counter(n, "rx_packets")
				if !ok || frames < 1000 || float64(frames) < 0.01*float64(packets) {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: n.Name + " often tells the switch to stop",
					Observed: fmt.Sprintf("%s: %d pause frames sent and %d packets received since it was set up", n.Name, frames, packets),
					Fix:      "see why this host cannot take what arrives: rings, interrupts on one core, a narrow PCIe slot",
					Source:   "IEEE 802.3 Annex 31B",
				}
			})
		},
	}
}
