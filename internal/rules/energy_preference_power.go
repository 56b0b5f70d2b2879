package rules

import (
	"linerate/internal/model"
)

func energyPreference() Rule {
	return Rule{
		ID:     "energy-preference-power",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "CPUs whose energy preference is to save power stay at a low clock during bursts of network work.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			p, ok := f.CPU.Preference.Get()
			if !ok || p != "power" || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "the CPUs' energy preference is to save power",
				Observed: "energy_performance_preference power",
				Fix:      "set it to balance_performance or performance",
				Source:   "Documentation/admin-guide/pm/intel_pstate.rst (energy vs performance hints)",
			}}
		},
	}
}
