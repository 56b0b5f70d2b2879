package rules

import (
	"strings"

	"linerate/internal/model"
)

func aspm() Rule {
	return Rule{
		ID:  "aspm-powersave",
		Doc: "With this policy PCIe links sleep whenever they can; a burst may then wait some microseconds for the link to wake.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			policy, ok := setting(f, "linux.module.pcie_aspm.policy")
			if !ok || !strings.Contains(policy, "[powersave]") && !strings.Contains(policy, "[powersupersave]") || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "PCIe links go to sleep between bursts",
				Observed: "pcie_aspm policy " + policy,
				Fix:      "set /sys/module/pcie_aspm/parameters/policy to performance",
				Source:   "Documentation/admin-guide/kernel-parameters.txt (pcie_aspm.policy)",
			}}
		},
	}
}
