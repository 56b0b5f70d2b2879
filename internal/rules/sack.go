package rules

import "linerate/internal/model"

func sack() Rule {
	return Rule{
		ID:     "sack-off",
		Limits: []model.LimiterID{model.SACKOff},
		Doc:    "Without SACK the sender repairs one loss per round trip and cannot use RACK-TLP: a few drops in a large window make the rate collapse.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return switchedOff(f, "tcp_sack", model.Finding{
				Severity: Medium,
				Title:    "losses are repaired one per round trip",
				Fix:      "set net.ipv4.tcp_sack to 1, its default; it acts on new connections",
				Source:   "RFC 2018; RFC 8985",
			})
		},
	}
}
