package rules

import (
	"linerate/internal/model"
)

func nfsOld() Rule {
	return Rule{
		ID:     "nfs-old-version",
		Limits: []model.LimiterID{model.NFSConcurrency},
		Doc:    "Old versions of NFS lack features that throughput depends on: version 2 moves 8 KiB per request, 4.0 has no sessions.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				vers := o["vers"]
				if !isNFS(m) || vers != "2" && vers != "4.0" {
					return nil
				}
				out := &model.Finding{
					Severity: Info, Title: m.Point + " speaks NFS " + vers,
					Observed: m.Point + ": vers=" + vers,
					Fix:      "let client and server agree on 4.1 or later, or use 3",
					Source:   "RFC 1094; RFC 8881 section 1.7",
				}
				if vers == "2" {
					out.Severity = Medium
				}
				return out
			})
		},
	}
}
