package rules

import (
	"slices"
	"strings"

	"linerate/internal/model"
)

func governorLags() Rule {
	return Rule{
		ID:     "governor-lags",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "Governors that follow the load let a core run slow at the start of each burst.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			governors, ok := f.CPU.Governors.Get()
			if !ok || fastest(f) < veryFast || !slices.Contains(governors, "ondemand") && !slices.Contains(governors, "conservative") {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "CPUs raise their clock only after they were busy",
				Observed: "governor " + strings.Join(governors, ", "),
				Fix:      "for the last few percent and for stable measurements set the governor to performance",
				Source:   "Documentation/admin-guide/pm/cpufreq.rst; CIT, Evaluation of 40 Gigabit Ethernet technology for data servers",
			}}
		},
	}
}
