package rules

import (
	"fmt"

	"linerate/internal/model"
)

// The backlog holds packets that another core steered to this one, or that a driver
// without NAPI delivers.
func backlogDrops() Rule {
	return Rule{
		ID:     "backlog-drops",
		Limits: []model.LimiterID{model.PathLoss, model.ReceiverCPU},
		Doc:    "Packets that wait for a core in the per-core backlog are dropped when it is full.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 100, 1e-5, ofCores(func(s model.Softnet) int64 { return s.Dropped }))
			if t == nil {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Low), Title: "packets were dropped before a core got to them",
				Observed: fmt.Sprintf("softnet: %d of %d packets dropped %s", t.bad, t.all, t.over(sinceBoot)),
				Fix:      "spread receive work over more cores; then raise net.core.netdev_max_backlog",
				Source:   "Documentation/admin-guide/sysctl/net.rst (netdev_max_backlog); net/core/dev.c (enqueue_to_backlog)",
			}}
		},
	}
}
