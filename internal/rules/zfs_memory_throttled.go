package rules

import (
	"fmt"

	"linerate/internal/model"
)

// zfsThrottle: zFS held back writes because memory was short.
func zfsThrottle() Rule {
	return Rule{
		ID:  "zfs-memory-throttled",
		Doc: "ZFS held back writes because memory was short.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			z := f.ZFS.Or(model.ZFS{})
			n := z.ARC["memory_throttle_count"]
			if n < 100 {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "ZFS held back for want of memory",
				Observed: fmt.Sprintf("memory_throttle_count %d since the module was loaded", n),
				Fix:      "leave more memory free: lower zfs_arc_max or move other programs off this host",
				Source:   "zfs(4) (zfs_arc_lotsfree_percent); module/zfs/arc.c (arc_memory_throttle)",
			}}
		},
	}
}
