package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
)

func zfsPool() Rule {
	return Rule{
		ID:     "zfs-pool-state",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "A degraded pool reconstructs the data of its missing disks, or does not work at all.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			z, ok := f.ZFS.Get()
			if !ok {
				return nil
			}
			var out []model.Finding
			for pool, state := range z.Pools {
				if state == "ONLINE" || state == "" {
					continue
				}
				out = append(out, model.Finding{
					Severity: High, Title: "pool " + pool + " is " + strings.ToLower(state),
					Observed: fmt.Sprintf("%s: state %s", pool, state),
					Fix:      "zpool status " + pool + ", then replace what it names",
					Source:   "zpoolconcepts(7) (device failure and recovery)",
				})
			}
			return sorted(out)
		},
	}
}
