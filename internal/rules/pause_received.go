package rules

import (
	"fmt"

	"linerate/internal/model"
)

// pauseReceived: a port that receives many pause frames spends time standing still, and so does everybody behind the same switch buffer.
func pauseReceived() Rule {
	return Rule{
		ID:  "pause-received",
		Doc: "A port that receives many pause frames spends time standing still, and so does everybody behind the same switch buffer.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				frames, ok := counter(n, "rx_pause_frames")
				packets, _ := counter(n, "rx_packets")
				if !ok || frames < 1000 || float64(frames) < 0.01*float64(packets) {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: n.Name + " is often told to stop",
					Observed: fmt.Sprintf("%s: %d pause frames received and %d packets received since it was set up", n.Name, frames, packets),
					Fix:      "find the receiver that the switch protects (a slow port, a full disk array) and give it room, or turn flow control off on the path",
					Source:   "IEEE 802.3 Annex 31B",
				}
			})
		},
	}
}
