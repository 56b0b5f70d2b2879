package rules

import (
	"linerate/internal/model"
)

func smbUncached() Rule {
	return Rule{
		ID:     "smb-cache-none",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "With cache=none every read of a program goes to the server unchanged, without read-ahead.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				if !isSMB(m) || o["cache"] != "none" {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: m.Point + " has neither cache nor read-ahead",
					Observed: m.Point + ": cache=none",
					Fix:      "mount " + m.Point + " with cache=strict, the default, unless programs read in large pieces themselves",
					Source:   "mount.cifs(8) (cache)",
				}
			})
		},
	}
}
