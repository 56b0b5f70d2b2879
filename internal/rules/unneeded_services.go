package rules

import (
	"slices"
	"strings"

	"linerate/internal/model"
)

func unneeded() Rule {
	return Rule{
		ID:  "unneeded-services",
		Doc: "Desktop services on a storage server take memory and cores, and wake them.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			running, ok := f.Services.Get()
			_, nfsd := f.NFSD.Get()
			_, zfs := f.ZFS.Get()
			if !ok || !nfsd && !zfs {
				return nil
			}
			var idle []string
			for _, s := range running {
				if !slices.Contains([]string{"irqbalance", "multipathd", "iscsid", "tuned", "lldpd"}, s) {
					idle = append(idle, s)
				}
			}
			if len(idle) == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "a storage server runs desktop services",
				Observed: strings.Join(idle, ", "),
				Fix:      "stop those that are not needed",
				Source:   "ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide (unused services)",
			}}
		},
	}
}
