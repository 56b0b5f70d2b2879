package rules

import (
	"fmt"

	"linerate/internal/model"
)

func conntrackOn() Rule {
	return Rule{
		ID:     "conntrack-in-path",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "A firewall follows every connection: each packet is looked up, also on the storage network.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			t, ok := f.Conntrack.Get()
			if !ok || t.Count == 0 || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "connections are followed by the firewall",
				Observed: fmt.Sprintf("nf_conntrack: %d connections", t.Count),
				Fix:      "exempt the storage network from tracking (notrack) if the last percent counts",
				Source:   "Documentation/networking/nf_conntrack-sysctl.rst; nft(8) (notrack)",
			}}
		},
	}
}
