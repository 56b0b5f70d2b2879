package rules

import (
	"fmt"

	"linerate/internal/model"
)

// conntrackDrops: connection tracking dropped packets.
func conntrackDrops() Rule {
	return Rule{
		ID:  "conntrack-drops",
		Doc: "Connection tracking dropped packets.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			t, ok := f.Conntrack.Get()
			if !ok || t.Drops < 100 {
				return nil
			}
			return []model.Finding{{
				Severity: Medium, Title: "connection tracking dropped packets",
				Observed: fmt.Sprintf("nf_conntrack: %d packets dropped since the host started", t.Drops),
				Fix:      "exempt the storage network from tracking (notrack), or raise net.netfilter.nf_conntrack_max",
				Source:   "Documentation/networking/nf_conntrack-sysctl.rst; net/netfilter/nf_conntrack_standalone.c",
			}}
		},
	}
}
