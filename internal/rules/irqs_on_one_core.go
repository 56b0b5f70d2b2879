package rules

import (
	"fmt"

	"linerate/internal/model"
)

func irqsOneCore() Rule {
	return Rule{
		ID:     "irqs-on-one-core",
		Limits: []model.LimiterID{model.ReceiverCPU},
		Doc:    "All queues of a fast port interrupt one core: it is busy long before the link is.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				irqs, ok := n.IRQs.Get()
				speed, known := n.Speed.Get()
				if !ok || len(f.CPUs) < 2 || known && speed < veryFast {
					return nil
				}
				core, busy, pinned := oneCore(irqs)
				if core < 0 {
					return nil
				}
				out := &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("CPU %d serves all queues of %s", core, n.Name),
					Observed: fmt.Sprintf("%s: %d busy interrupts, all go to CPU %d", n.Name, busy, core),
					Fix:      "spread them, one queue per core (smp_affinity_list), or run irqbalance",
					Source:   "Documentation/core-api/irq/irq-affinity.rst; Documentation/networking/scaling.rst",
				}
				if busy < 2 {
					out.Observed = fmt.Sprintf("%s: %d interrupts, all set to CPU %d only", n.Name, pinned, core)
				}
				if !known || busy < 2 { // a virtual port, whose rate nobody tells, or one that is idle
					out.Severity = Low
				}
				return out
			})
		},
	}
}

// oneCore is the core that all busy interrupts go to, if there are two or more; or else the only
// core that all of three or more interrupts (two queues and a vector for the link) may go to,
// which no driver sets by itself. -1 is none.
func oneCore(irqs []model.IRQ) (core, busy, pinned int) {
	core, allowed := -1, -1
	spread, free := false, len(irqs) < 3
	for _, q := range irqs {
		if q.Count >= busyIRQ {
			spread = spread || len(q.CPUs) != 1 || core >= 0 && q.CPUs[0] != core
			busy++
			if !spread {
				core = q.CPUs[0]
			}
		}
		free = free || len(q.Allowed) != 1 || allowed >= 0 && q.Allowed[0] != allowed
		if !free {
			allowed = q.Allowed[0]
		}
	}
	switch {
	case busy >= 2 && !spread:
		return core, busy, 0
	case busy < 2 && !free:
		return allowed, busy, len(irqs)
	}
	return -1, busy, 0
}
