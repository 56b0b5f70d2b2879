package rules

import (
	"linerate/internal/model"
	"linerate/internal/unit"
)

func numaBalancing() Rule {
	return Rule{
		ID:     "numa-balancing",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "Automatic NUMA balancing unmaps pages to learn who uses them: a data mover that is pinned by hand gets only the cost.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := setting(f, "linux.sysctl.kernel.numa_balancing")
			nodes := f.CPU.Nodes.Or(nil)
			if !ok || v == "0" || len(nodes) < 2 || fastest(f) < 40*unit.Gbit {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "the kernel moves memory between NUMA nodes by itself",
				Observed: "kernel.numa_balancing = " + v,
				Fix:      "if you place movers on the NIC's node by hand, set it to 0",
				Source:   "Documentation/admin-guide/sysctl/kernel.rst (numa_balancing)",
			}}
		},
	}
}
