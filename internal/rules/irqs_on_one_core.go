package rules

import (
	"fmt"

	"linerate/internal/model"
)

// irqsOneCore: all queues of a fast port interrupt one core: it is busy long before the link is.
func irqsOneCore() Rule {
	return Rule{
		ID:  "irqs-on-one-core",
		Doc: "All queues of a fast port interrupt one core: it is busy long before the link is.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				irqs, ok := n.IRQs.Get()
				if !ok || len(f.CPUs) < 2 || n.Speed.Or(0) < veryFast {
					return nil
				}
				core, busy := -1, 0
				for _, q := range irqs {
					if q.Count < busyIRQ {
						continue
					}
					if len(q.CPUs) != 1 || core >= 0 && q.CPUs[0] != core {
						return nil
					}
					core, busy = q.CPUs[0], busy+1
				}
				if busy < 2 {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("CPU %d serves all queues of %s", core, n.Name),
					Observed: fmt.Sprintf("%s (%s): %d busy interrupts, all go to CPU %d", n.Name, n.Speed.Value, busy, core),
					Fix:      "spread them, one queue per core (smp_affinity_list), or run irqbalance",
					Source:   "Documentation/core-api/irq/irq-affinity.rst; Documentation/networking/scaling.rst",
				}
			})
		},
	}
}
