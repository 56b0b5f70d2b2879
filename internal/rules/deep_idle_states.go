package rules

import (
	"fmt"
	"time"

	"linerate/internal/model"
)

func deepIdle() Rule {
	return Rule{
		ID:  "deep-idle-states",
		Doc: "A core in a deep idle state takes long to wake for the next packet: it adds to the latency of small requests, not to bulk transfer.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			exit, ok := f.CPU.IdleExit.Get()
			if !ok || exit < 100*time.Microsecond || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: fmt.Sprintf("cores take up to %v to wake", exit),
				Observed: fmt.Sprintf("the deepest idle state in use takes %v to leave", exit),
				Fix:      "where latency counts, hold /dev/cpu_dma_latency open with a lower value, or disable the deep states",
				Source:   "Documentation/admin-guide/pm/cpuidle.rst",
			}}
		},
	}
}
