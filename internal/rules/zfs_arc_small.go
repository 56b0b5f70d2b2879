package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func zfsARC() Rule {
	return Rule{
		ID:     "zfs-arc-small",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "A small ARC sends reads to the disks that memory could answer.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			z, ok := f.ZFS.Get()
			memory, ok2 := f.Memory.Get()
			most := z.ARC["c_max"]
			if !ok || !ok2 || most <= 0 || float64(most) >= 0.25*float64(memory) {
				return nil
			}
			out := model.Finding{
				Severity: Info, Title: "the ARC may use little of the memory",
				Observed: fmt.Sprintf("c_max %s of %s", unit.Bytes(most), memory),
				Fix:      "raise zfs_arc_max if this host is a filer; half of the memory was the default on Linux up to OpenZFS 2.2, nearly all of it since 2.3",
				Source:   "zfs(4) (zfs_arc_max)",
			}
			if _, serves := f.NFSD.Get(); serves {
				out.Severity = Low
			}
			return []model.Finding{out}
		},
	}
}
