package rules

import (
	"fmt"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func irqOffNode() Rule {
	return Rule{
		ID:     "irq-off-node",
		Limits: []model.LimiterID{model.ReceiverCPU},
		Doc:    "Interrupts of a NIC are served on another NUMA node: every packet crosses the link between the sockets.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				local, ok := n.LocalCPUs.Get()
				irqs, ok2 := n.IRQs.Get()
				if nodes, ok3 := f.CPU.Nodes.Get(); !ok || !ok2 || !ok3 || len(nodes) < 2 || len(local) == 0 {
					return nil
				}
				busy, away := 0, 0
				for _, q := range irqs {
					if q.Count < busyIRQ || len(q.CPUs) == 0 {
						continue
					}
					busy++
					if !slices.ContainsFunc(q.CPUs, func(cpu int) bool { return slices.Contains(local, cpu) }) {
						away++
					}
				}
				if busy == 0 || away*2 <= busy {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: n.Name + " is served by CPUs of another NUMA node",
					Observed: fmt.Sprintf("%s: %d of %d busy interrupts go to CPUs that are not near it; near are %s", n.Name, away, busy, unit.CPUList(local)),
					Fix:      fmt.Sprintf("let the interrupts of %s go to CPUs %s (smp_affinity_list), and run what uses it there", n.Name, unit.CPUList(local)),
					Source:   "Documentation/core-api/irq/irq-affinity.rst; Documentation/networking/scaling.rst",
				}
				if n.Speed.Or(0) >= 25*unit.Gbit {
					out.Severity = Medium
				}
				return out
			})
		},
	}
}
