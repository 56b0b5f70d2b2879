package rules

import (
	"linerate/internal/model"
)

func slowClock() Rule {
	return Rule{
		ID:     "slow-clock",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "A clock that is read over the bus costs a microsecond each time, and the network stack reads it for every packet.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			clock, ok := f.CPU.Clocksource.Get()
			if !ok || clock != "hpet" && clock != "acpi_pm" {
				return nil
			}
			out := model.Finding{
				Severity: Low, Title: "the kernel's clock is slow to read",
				Observed: "clocksource " + clock,
				Fix:      "find in the kernel's log why tsc was rejected (firmware, sockets out of sync), fix that, and boot with tsc",
				Source:   "Documentation/timers/timekeeping.rst; Documentation/virt/kvm/x86/timekeeping.rst",
			}
			if fastest(f) >= veryFast {
				out.Severity = Medium
			}
			return []model.Finding{out}
		},
	}
}
