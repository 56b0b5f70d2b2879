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
		Doc:    "A pool that is not whole reads around its missing disks, or stands still.",
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
