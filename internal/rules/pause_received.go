package rules

import (
	"fmt"

	"linerate/internal/model"
)

// oftenPaused is the number of pause frames per second from which there is a finding. Each
// stops a port for up to 65535 quanta of 512 bit times (IEEE 802.3 Annex 31B): 3.4 ms at 10
// Gbit/s, so a hundred may cost a third of the time.
const oftenPaused = 100

// pauseFinding judges one direction; seen is the text of what was observed.
func pauseFinding(t *tally, n model.NIC, title, seen, packets, fix string) *model.Finding {
	out := &model.Finding{
		Severity: t.severity(Low), Title: title,
		Observed: fmt.Sprintf("%s: %d pause frames %s and %d packets %s %s", n.Name, t.bad, seen, t.all, packets, t.over(sinceSetUp)),
		Fix:      fix,
		Source:   "IEEE 802.3 Annex 31B; Documentation/networking/statistics.rst (pause)",
	}
	if t.perSecond() >= oftenPaused {
		out.Severity = Medium
	}
	return out
}

func pauseReceived() Rule {
	return Rule{
		ID:     "pause-received",
		Limits: []model.LimiterID{model.FlowControl},
		Doc:    "A port that receives pause frames stops sending for a while after each, whichever receiver the switch protects with them.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				t := c.tally(f, 1000, 1e-4, ofPort(n, "tx_packets", "rx_pause_frames"))
				if t == nil {
					return nil
				}
				return pauseFinding(t, n, n.Name+" is often paused", "received", "sent",
					"find the receiver that the switch protects (a slow port, a saturated disk array) and make it faster, or turn flow control off on the path")
			})
		},
	}
}
