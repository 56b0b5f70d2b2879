package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func zfsDirty() Rule {
	return Rule{
		ID:     "zfs-dirty-limit-small",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "ZFS throttles writers when dirty data nears its limit; if the limit is below one second of line rate, the link stops in between.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			z := f.ZFS.Or(model.ZFS{})
			n := options(z.Params).number("zfs_dirty_data_max")
			need := unit.Bytes(float64(fastest(f)) / 8)
			if n <= 0 || need <= 0 || unit.Bytes(n) >= need {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "ZFS buffers less than a second of writes",
				Observed: fmt.Sprintf("zfs_dirty_data_max %s; a port of %s brings %s per second", unit.Bytes(n), fastest(f), need),
				Fix:      "do writers stop and go while the disks are idle in between? Then raise zfs_dirty_data_max, if there is memory for it",
				Source:   "zfs(4) (zfs_dirty_data_max, ZFS transaction delay)",
			}}
		},
	}
}
