package rules

import (
	"fmt"

	"linerate/internal/model"
)

// softirqBudget: the kernel often stops taking packets because its time for it is used up, with packets still waiting.
func softirqBudget() Rule {
	return Rule{
		ID:  "softirq-budget",
		Doc: "The kernel often stops taking packets because its time for it is used up, with packets still waiting.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			cores := f.CPU.Softnet.Or(nil)
			sum := softnetSum(cores)
			if sum.Squeezed < 1000 || float64(sum.Squeezed) < 1e-3*float64(sum.Processed) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "the kernel runs out of time for packets",
				Observed: fmt.Sprintf("softnet: stopped early %d times over %d packets", sum.Squeezed, sum.Processed),
				Fix:      "spread receive work over more cores; then raise net.core.netdev_budget and netdev_budget_usecs",
				Source:   "Documentation/admin-guide/sysctl/net.rst (netdev_budget)",
			}}
		},
	}
}
