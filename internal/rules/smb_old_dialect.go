package rules

import (
	"linerate/internal/model"
)

func smbDialect() Rule {
	return Rule{
		ID:     "smb-old-dialect",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "Old SMB dialects keep little data in flight: up to 2.0 an ordinary request moves at most 64 KiB, and 1.0 needs more round trips.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				vers := o["vers"]
				if !isSMB(m) || vers != "1.0" && vers != "2.0" {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: m.Point + " speaks SMB " + vers,
					Observed: m.Point + ": vers=" + vers,
					Fix:      "mount " + m.Point + " with vers=3.1.1, or the highest that the server has",
					Source:   "mount.cifs(8) (vers); MS-SMB2 section 2.2.4 (SMB2_GLOBAL_CAP_LARGE_MTU, from dialect 2.1)",
				}
			})
		},
	}
}
