package rules

import (
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func irqbalanceMoves() Rule {
	return Rule{
		ID:  "irqbalance-moves-irqs",
		Doc: "irqbalance moves interrupts as it sees fit: a placement by hand does not last, and results vary.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			running, ok := f.Services.Get()
			if !ok || !slices.Contains(running, "irqbalance") {
				return nil
			}
			fast := eachPort(f, func(n model.NIC) *model.Finding {
				if n.Speed.Or(0) < 40*unit.Gbit {
					return nil
				}
				return &model.Finding{Title: n.Name}
			})
			if len(fast) == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "irqbalance moves the interrupts of " + fast[0].Title,
				Observed: "irqbalance runs",
				Fix:      "if you place interrupts by hand, ban them in irqbalance (--banirq, or policy scripts) or stop it",
				Source:   "irqbalance(1); Documentation/core-api/irq/irq-affinity.rst",
			}}
		},
	}
}
