package rules

import "linerate/internal/model"

func zfsSyncDisabled() Rule {
	return Rule{
		ID:  "zfs-sync-disabled",
		Doc: "With sync=disabled ZFS answers that data is safe before it is: fast, and a power failure loses what clients believe written.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			names, n := datasetsWith(f, func(d model.ZFSDataset) bool { return d.Sync == "disabled" })
			if n == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "ZFS answers before data is safe",
				Observed: "sync=disabled: " + names,
				Fix:      "keep it only for data that can be made again; else sync=standard and a log device with power-loss protection",
				Source:   "zfsprops(7) (sync)",
			}}
		},
	}
}
