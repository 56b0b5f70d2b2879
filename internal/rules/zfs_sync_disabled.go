package rules

import "linerate/internal/model"

func zfsSyncDisabled() Rule {
	return Rule{
		ID:  "zfs-sync-disabled",
		Doc: "With sync=disabled ZFS acknowledges synchronous writes before the data is stored: fast, but a power failure loses data that clients believe is stored.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			names, n := datasetsWith(f, func(d model.ZFSDataset) bool { return d.Sync == "disabled" })
			if n == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "ZFS acknowledges data before it is stored",
				Observed: "sync=disabled: " + names,
				Fix:      "keep it only for data that can be recreated; else sync=standard and a log device with power-loss protection",
				Source:   "zfsprops(7) (sync)",
			}}
		},
	}
}
