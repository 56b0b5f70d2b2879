package rules

import (
	"fmt"

	"linerate/internal/model"
)

func oneSoftirqCore() Rule {
	return Rule{
		ID:     "one-softirq-core",
		Limits: []model.LimiterID{model.ReceiverCPU},
		Doc:    "One core processed nearly all packets. With a single connection that is normal, and that core bounds the rate; with many connections it means that they are not spread over cores.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			cores, ok := f.CPU.Softnet.Get()
			if !ok || len(cores) < 2 || fastest(f) < veryFast {
				return nil
			}
			sum, most := softnetSum(cores), cores[0]
			for _, s := range cores {
				if s.Processed > most.Processed {
					most = s
				}
			}
			if sum.Processed < 1e6 || float64(most.Processed) < 0.9*float64(sum.Processed) {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: fmt.Sprintf("CPU %d processes nearly all packets", most.CPU),
				Observed: fmt.Sprintf("CPU %d processed %d of %d packets", most.CPU, most.Processed, sum.Processed),
				Fix:      "spread the receive queues over cores, or the packets with receive packet steering (rps_cpus)",
				Source:   "Documentation/networking/scaling.rst; net/core/net-procfs.c",
			}}
		},
	}
}
