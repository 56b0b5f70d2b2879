package rules

import (
	"fmt"

	"linerate/internal/model"
)

func zfsThrottle() Rule {
	return Rule{
		ID:     "zfs-memory-throttled",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "ZFS throttled writes because the host was short of memory.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 100, 0, func(f *model.Facts) (int64, int64, bool) {
				z, ok := f.ZFS.Get()
				return z.ARC["memory_throttle_count"], 0, ok
			})
			if t == nil {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Low), Title: "ZFS throttled writes because memory was short",
				Observed: fmt.Sprintf("memory_throttle_count %d %s", t.bad, t.over("since the module was loaded")),
				Fix:      "leave more memory free: lower zfs_arc_max or move other programs off this host",
				Source:   "zfs(4) (zfs_arc_lotsfree_percent); module/zfs/arc.c (arc_memory_throttle)",
			}}
		},
	}
}
