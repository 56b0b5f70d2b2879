package rules

import (
	"fmt"

	"linerate/internal/model"
)

// arrayRebuilding: while an array rebuilds or checks itself its disks are shared with that work.
func arrayRebuilding() Rule {
	return Rule{
		ID:     "array-rebuilding",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "While an array rebuilds or checks itself its disks are shared with that work.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, a := range f.Arrays {
				if a.Action == "" || a.Action == "idle" || a.Action == "frozen" {
					continue
				}
				out = append(out, model.Finding{
					Severity: Medium, Title: a.Name + " is busy with itself",
					Observed: fmt.Sprintf("%s (%s): sync_action %s", a.Name, a.Level, a.Action),
					Fix:      "measure when it is done; dev.raid.speed_limit_max says how much it may take",
					Source:   "Documentation/admin-guide/md.rst (sync_action)",
				})
			}
			return out
		},
	}
}
