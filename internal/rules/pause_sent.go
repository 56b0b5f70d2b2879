package rules

import "linerate/internal/model"

func pauseSent() Rule {
	return Rule{
		ID:     "pause-sent",
		Limits: []model.LimiterID{model.FlowControl},
		Doc:    "A port that sends pause frames stops the switch, and with it all senders that share the switch's buffer.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				t := c.tally(f, 1000, 1e-4, ofPort(n, "rx_packets", "tx_pause_frames"))
				if t == nil {
					return nil
				}
				return pauseFinding(t, n, n.Name+" often pauses the switch", "sent", "received",
					"see why this host cannot take what arrives: rings, interrupts on one core, a narrow PCIe slot")
			})
		},
	}
}
