package rules

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
)

func governorLowest() Rule {
	return Rule{
		ID:     "governor-powersave",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "The governor powersave keeps these CPUs at their lowest frequency, and a single connection is as fast as one core.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			governors, ok := f.CPU.Governors.Get()
			driver := f.CPU.Driver.Or("")
			// intel_pstate and amd_pstate choose the frequency themselves; there "powersave"
			// means something else.
			if !ok || !slices.Contains(governors, "powersave") || driver == "" || strings.HasPrefix(driver, "intel_pstate") || strings.HasPrefix(driver, "amd-pstate") || strings.HasPrefix(driver, "amd_pstate") {
				return nil
			}
			return []model.Finding{{
				Severity: Medium, Title: "the CPUs are kept at their lowest frequency",
				Observed: fmt.Sprintf("scaling driver %s, governor %s", driver, strings.Join(governors, ", ")),
				Fix:      "set the governor to performance or schedutil",
				Source:   "Documentation/admin-guide/pm/cpufreq.rst (powersave)",
			}}
		},
	}
}
