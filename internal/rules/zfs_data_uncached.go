package rules

import "linerate/internal/model"

func zfsUncached() Rule {
	return Rule{
		ID:     "zfs-data-uncached",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "With primarycache=metadata or none ZFS keeps no file data in memory: each read goes to the disks, and it does not read ahead.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			names, n := datasetsWith(f, func(d model.ZFSDataset) bool {
				return !d.Volume && (d.Cache == "metadata" || d.Cache == "none")
			})
			if n == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "ZFS does not cache file data",
				Observed: "primarycache is not all: " + names,
				Fix:      "set primarycache=all unless the programs above cache by themselves, as databases do",
				Source:   "zfsprops(7) (primarycache); module/zfs/dbuf.c (DBUF_IS_CACHEABLE in dbuf_read)",
			}}
		},
	}
}
