package rules

import (
	"fmt"

	"linerate/internal/model"
)

// The third column of softnet_stat counts how often net_rx_action ended with work left. No
// packet is lost by that: the rest waits for the next round.
func softirqBudget() Rule {
	return Rule{
		ID:     "softirq-budget",
		Limits: []model.LimiterID{model.ReceiverCPU},
		Doc:    "The kernel often ends a round of packet processing because its time budget is used up, with packets still waiting.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 1000, 1e-3, ofCores(func(s model.Softnet) int64 { return s.Squeezed }))
			if t == nil {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Low), Title: "the kernel runs out of its time budget for packets",
				Observed: fmt.Sprintf("softnet: stopped early %d times over %d packets %s", t.bad, t.all, t.over(sinceBoot)),
				Fix:      "spread receive work over more cores; then raise net.core.netdev_budget and netdev_budget_usecs",
				Source:   "Documentation/admin-guide/sysctl/net.rst (netdev_budget); net/core/dev.c (net_rx_action, time_squeeze)",
			}}
		},
	}
}
