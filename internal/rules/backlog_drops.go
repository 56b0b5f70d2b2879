package rules

import (
	"fmt"

	"linerate/internal/model"
)

// backlogDrops: packets that wait for a core in the per-core backlog are dropped when it is full.
func backlogDrops() Rule {
	return Rule{
		ID:  "backlog-drops",
		Doc: "Packets that wait for a core in the per-core backlog are dropped when it is full.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			cores := f.CPU.Softnet.Or(nil)
			sum := softnetSum(cores)
			if sum.Dropped < 100 || float64(sum.Dropped) < 1e-5*float64(sum.Processed) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "packets were dropped before a core got to them",
				Observed: fmt.Sprintf("softnet: %d of %d packets dropped since the host started", sum.Dropped, sum.Processed),
				Fix:      "spread receive work over more cores; then raise net.core.netdev_max_backlog",
				Source:   "Documentation/admin-guide/sysctl/net.rst (netdev_max_backlog)",
			}}
		},
	}
}
