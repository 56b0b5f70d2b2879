package rules

import (
	"fmt"

	"linerate/internal/model"
)

func frequencyCapped() Rule {
	return Rule{
		ID:     "cpu-frequency-capped",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "The CPUs are limited below their maximum frequency, and a single connection is as fast as one core.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			limit, ok := f.CPU.CapKHz.Get()
			most, ok2 := f.CPU.MaxKHz.Get()
			if !ok || !ok2 || limit <= 0 || float64(limit) >= 0.8*float64(most) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "the frequency of the CPUs is limited",
				Observed: fmt.Sprintf("scaling_max_freq %d MHz of %d MHz", limit/1000, most/1000),
				Fix:      "raise scaling_max_freq to cpuinfo_max_freq, or find the power profile that lowered it",
				Source:   "Documentation/admin-guide/pm/cpufreq.rst (scaling_max_freq)",
			}}
		},
	}
}
