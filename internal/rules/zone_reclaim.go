package rules

import (
	"fmt"

	"linerate/internal/model"
)

func zoneReclaim() Rule {
	return Rule{
		ID:     "zone-reclaim",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "With zone reclaim a NUMA node drops cached files while other nodes have free memory.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := setting(f, "linux.sysctl.vm.zone_reclaim_mode")
			nodes := f.CPU.Nodes.Or(nil)
			if !ok || v == "0" || len(nodes) < 2 {
				return nil
			}
			return []model.Finding{{
				Severity: Medium, Title: "cached files are dropped while memory is free",
				Observed: fmt.Sprintf("vm.zone_reclaim_mode = %s on %d nodes", v, len(nodes)),
				Fix:      "set vm.zone_reclaim_mode to 0, its default: file servers gain from the cache",
				Source:   "Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
			}}
		},
	}
}
