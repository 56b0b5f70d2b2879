package rules

import (
	"fmt"

	"linerate/internal/model"
)

func conntrackOn() Rule {
	return Rule{
		ID:     "conntrack-in-path",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "The firewall tracks every connection: each packet costs a lookup, also on the storage network.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			t, ok := f.Conntrack.Get()
			if !ok || t.Count == 0 || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "the firewall tracks connections",
				Observed: fmt.Sprintf("nf_conntrack: %d connections", t.Count),
				Fix:      "exempt the storage network from tracking (notrack) if the last percent matters",
				Source:   "Documentation/networking/nf_conntrack-sysctl.rst; nft(8) (notrack)",
			}}
		},
	}
}
