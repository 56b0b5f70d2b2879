package rules

import (
	"fmt"
	"maps"
	"slices"

	"linerate/internal/model"
)

// Where the slowdown begins depends on the pool. In the last 4% (metaslab_df_free_pct)
// metaslabs are allocated by best fit.
func zfsFull() Rule {
	return Rule{
		ID:     "zfs-pool-full",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "In a pool that is nearly full ZFS searches long for free space and finds it in small fragments: writes slow down, and later so do reads of that data.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			store := f.ZFS.Or(model.ZFS{}).Store
			for _, name := range slices.Sorted(maps.Keys(store)) {
				used, ok := store[name].Capacity.Get()
				if !ok || used < 90 {
					continue
				}
				found := model.Finding{
					Severity: Low, Title: "pool " + name + " is nearly full",
					Observed: fmt.Sprintf("%s: %d%% used, %d%% of the free space in pieces", name, used, store[name].Fragments.Or(0)),
					Fix:      "delete, move or add disks until a tenth or more is free",
					Source:   "module/zfs/metaslab.c (metaslab_df_free_pct); OpenZFS documentation, workload tuning (free space)",
				}
				if used >= 96 {
					found.Severity = Medium
				}
				out = append(out, found)
			}
			return out
		},
	}
}
