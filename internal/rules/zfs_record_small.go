package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// smallRecord is the recordsize below which a file system is set up for small requests: 128 KiB
// was the default for long; 8 to 16 KiB is the advice for databases.
const smallRecord = 64 * unit.KiB

func zfsRecord() Rule {
	return Rule{
		ID:     "zfs-record-small",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "A file system with a small recordsize cuts streams into many small pieces, each with its own checksum and disk request.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			small := func(d model.ZFSDataset) bool { return !d.Volume && d.Record > 0 && d.Record < smallRecord }
			names, n := datasetsWith(f, func(d model.ZFSDataset) bool { return small(d) && d.Shared })
			severity := Low
			if n == 0 {
				names, n = datasetsWith(f, small)
				severity = Info
			}
			if n == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: severity, Title: "ZFS keeps files in small records",
				Observed: fmt.Sprintf("recordsize below %s: %s", smallRecord, names),
				Fix:      "for large files set recordsize to 128K or 1M (it acts on files written anew); keep it small under databases",
				Source:   "zfsprops(7) (recordsize)",
			}}
		},
	}
}
