package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func zfsIndex() Rule {
	return Rule{
		ID:     "zfs-cache-index-large",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "The index of a large L2ARC lives in the ARC and leaves it less room for data.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			z := f.ZFS.Or(model.ZFS{})
			index, size := z.ARC["l2_hdr_size"], z.ARC["c_max"]
			if size <= 0 || float64(index) < 0.1*float64(size) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "the index of the L2ARC fills the ARC",
				Observed: fmt.Sprintf("l2_hdr_size %s of c_max %s", unit.Bytes(index), unit.Bytes(size)),
				Fix:      "use a smaller cache device, larger records, or more memory",
				Source:   "module/zfs/arc.c (L2ARC headers); zfs(4)",
			}}
		},
	}
}
