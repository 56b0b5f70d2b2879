package rules

import (
	"fmt"

	"linerate/internal/model"
)

// fragmentsLost: fragments that never become whole are lost packets: NFS over UDP, or a tunnel above its MTU.
func fragmentsLost() Rule {
	return Rule{
		ID:  "fragments-lost",
		Doc: "Fragments that never become whole are lost packets: NFS over UDP, or a tunnel above its MTU.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			count, ok := f.NetCounters.Get()
			if !ok {
				return nil
			}
			bad, all := count["Ip.ReasmFails"], count["Ip.ReasmReqds"]
			if bad < 1000 || float64(bad) < 0.01*float64(all) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "fragments do not come together",
				Observed: fmt.Sprintf("%d of %d fragments were in vain", bad, all),
				Fix:      "use TCP, or an MTU that every hop can carry, so that nothing is fragmented",
				Source:   "RFC 8900; RFC 4963 (reassembly errors at high rates)",
			}}
		},
	}
}
