package rules

import (
	"linerate/internal/model"
)

func nfsSoft() Rule {
	return Rule{
		ID:  "nfs-soft",
		Doc: "A soft mount gives up after some tries: a server that is slow under load then costs a program an error, or data that it believed written.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				if !isNFS(m) || !o.has("soft") || o.has("ro") {
					return nil
				}
				return &model.Finding{
					Severity: Info, Title: m.Point + " gives up on a slow server",
					Observed: m.Point + ": mount option soft, and it is mounted for writing",
					Fix:      "mount " + m.Point + " with hard, the default, unless programs must not wait for a server that is away",
					Source:   mountManual(f, "soft, hard"),
				}
			})
		},
	}
}
