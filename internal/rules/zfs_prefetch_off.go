package rules

import (
	"linerate/internal/model"
)

func zfsPrefetch() Rule {
	return Rule{
		ID:     "zfs-prefetch-off",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "Without prefetch ZFS reads a stream one record at a time.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			z := f.ZFS.Or(model.ZFS{})
			if z.Params["zfs_prefetch_disable"] != "1" {
				return nil
			}
			return []model.Finding{{
				Severity: Medium, Title: "ZFS does not read ahead",
				Observed: "zfs_prefetch_disable = 1",
				Fix:      "set it to 0, its default, unless all reads are random",
				Source:   "zfs(4) (zfs_prefetch_disable)",
			}}
		},
	}
}
