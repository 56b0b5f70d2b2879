package rules

import (
	"fmt"

	"linerate/internal/model"
)

func singleQueue() Rule {
	return Rule{
		ID:     "single-queue",
		Limits: []model.LimiterID{model.ReceiverCPU},
		Doc:    "A fast port with one receive queue keeps one core busy while the others wait.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				ch, ok := n.Channels.Get()
				if !ok || ch.Receive() != 1 || ch.ReceiveMax() < 2 || len(f.CPUs) < 2 || n.Speed.Or(0) < veryFast {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: n.Name + " receives through one queue",
					Observed: fmt.Sprintf("%s (%s): 1 of %d receive queues, %d CPUs", n.Name, n.Speed.Value, ch.ReceiveMax(), len(f.CPUs)),
					Fix:      fmt.Sprintf("give %s more queues (ethtool -L), up to the cores of its NUMA node", n.Name),
					Source:   "Documentation/networking/scaling.rst (RSS)",
				}
			})
		},
	}
}
