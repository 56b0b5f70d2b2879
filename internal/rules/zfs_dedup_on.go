package rules

import (
	"linerate/internal/model"
)

func zfsDedup() Rule {
	return Rule{
		ID:     "zfs-dedup-on",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "With dedup each block written is looked up in a table of all blocks: once that no longer fits into memory, each write reads disks first.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			names, n := datasetsWith(f, func(d model.ZFSDataset) bool { return d.Dedup != "" && d.Dedup != "off" && d.Dedup != "-" })
			if n == 0 {
				return nil
			}
			out := model.Finding{
				Severity: Low, Title: "ZFS looks for duplicates in each write",
				Observed: "dedup is on: " + names,
				Fix:      "set dedup=off unless the pool's ratio is worth it (it acts on what is written from then on); compression costs far less",
				Source:   "zfsprops(7) (dedup); zfsconcepts(7) (deduplication: at least 1.25 GiB of memory per TiB)",
			}
			for _, p := range f.ZFS.Value.Store {
				if ratio, ok := p.Dedup.Get(); ok && ratio < 1.2 {
					out.Severity = Medium
				}
			}
			if out.Severity == Medium {
				out.Observed += "; it saves less than a fifth"
			}
			return []model.Finding{out}
		},
	}
}
