package rules

import (
	"fmt"

	"linerate/internal/model"
)

func conntrackDrops() Rule {
	return Rule{
		ID:     "conntrack-drops",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "Connection tracking dropped packets, because its table was full or an entry could not be made.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 100, 0, func(f *model.Facts) (int64, int64, bool) {
				t, ok := f.Conntrack.Get()
				return t.Drops, 0, ok
			})
			if t == nil {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Medium), Title: "connection tracking dropped packets",
				Observed: fmt.Sprintf("nf_conntrack: %d packets dropped %s", t.bad, t.over(sinceBoot)),
				Fix:      "exempt the storage network from tracking (notrack), or raise net.netfilter.nf_conntrack_max",
				Source:   "conntrack(8) (statistics: drop); net/netfilter/nf_conntrack_standalone.c (ct_cpu_seq_show)",
			}}
		},
	}
}
