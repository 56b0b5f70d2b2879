package rules

import (
	"fmt"

	"linerate/internal/model"
)

func conntrackFull() Rule {
	return Rule{
		ID:     "conntrack-full",
		Limits: []model.LimiterID{model.ConnectionRefused},
		Doc:    "When the connection tracking table is full, packets of new connections are dropped: nothing new connects, and connections that lost their entry stall.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			t, ok := f.Conntrack.Get()
			if !ok || t.Max <= 0 || float64(t.Count) < 0.8*float64(t.Max) {
				return nil
			}
			out := model.Finding{
				Severity: Low, Title: "the connection tracking table is nearly full",
				Observed: fmt.Sprintf("nf_conntrack: %d of %d", t.Count, t.Max),
				Fix:      "exempt the storage network from tracking (notrack), or raise net.netfilter.nf_conntrack_max",
				Source:   "Documentation/networking/nf_conntrack-sysctl.rst",
			}
			if float64(t.Count) >= 0.95*float64(t.Max) {
				out.Severity = Medium
			}
			return []model.Finding{out}
		},
	}
}
