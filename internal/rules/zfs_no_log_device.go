package rules

import (
	"maps"
	"slices"
	"strings"

	"linerate/internal/model"
)

// Pools of flash do well without a log device, so the finding only asks.
func zfsNoLog() Rule {
	return Rule{
		ID:     "zfs-no-log-device",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "Without a log device a pool of spinning disks writes synchronous data to those disks at once, in between all other requests.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			if _, serves := f.NFSD.Get(); !serves || !slices.ContainsFunc(f.Disks, func(d model.Disk) bool { return d.Rotational.Or(false) }) {
				return nil
			}
			var pools []string
			store := f.ZFS.Or(model.ZFS{}).Store
			for _, name := range slices.Sorted(maps.Keys(store)) {
				standard := func(d model.ZFSDataset) bool { return poolOf(d) == name && d.Sync == "standard" }
				if _, n := datasetsWith(f, standard); n > 0 && !store[name].Log {
					pools = append(pools, name)
				}
			}
			if len(pools) == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "synchronous writes go to the pool's own disks",
				Observed: "no log device: " + strings.Join(pools, ", ") + "; this host serves NFS and has spinning disks",
				Fix:      "do clients write with fsync or sync? Then a log device with power-loss protection helps; streams that commit at the end gain little",
				Source:   "zpoolconcepts(7) (intent log); zfsprops(7) (sync)",
			}}
		},
	}
}
