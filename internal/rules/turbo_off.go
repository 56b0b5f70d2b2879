package rules

import (
	"linerate/internal/model"
)

func turboOff() Rule {
	return Rule{
		ID:     "turbo-off",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "Without turbo one busy core runs slower than it could while the others idle.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			if off, ok := f.CPU.NoTurbo.Get(); !ok || !off || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "turbo is off",
				Observed: "intel_pstate/no_turbo = 1",
				Fix:      "set it to 0 unless stable clocks are wanted, as for measurements",
				Source:   "Documentation/admin-guide/pm/intel_pstate.rst (no_turbo)",
			}}
		},
	}
}
