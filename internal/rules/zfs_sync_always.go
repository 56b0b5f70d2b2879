package rules

import "linerate/internal/model"

func zfsSyncAlways() Rule {
	return Rule{
		ID:     "zfs-sync-always",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "With sync=always each write waits until it is on the intent log, even if no program asked for that.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			store := f.ZFS.Or(model.ZFS{}).Store
			names, n := datasetsWith(f, func(d model.ZFSDataset) bool { return d.Sync == "always" })
			if n == 0 {
				return nil
			}
			out := model.Finding{
				Severity: Low, Title: "every write to ZFS waits for the intent log",
				Observed: "sync=always: " + names,
				Fix:      "set sync=standard where programs and protocols ask for safety themselves; where each write must be safe give the pool a fast log device",
				Source:   "zfsprops(7) (sync)",
			}
			if _, without := datasetsWith(f, func(d model.ZFSDataset) bool {
				p, known := store[poolOf(d)]
				return d.Sync == "always" && known && !p.Log
			}); without > 0 {
				out.Severity = Medium
				out.Observed += "; the pool has no log device of its own"
			}
			return []model.Finding{out}
		},
	}
}
