package rules

import (
	"fmt"

	"linerate/internal/model"
)

func arrayRebuilding() Rule {
	return Rule{
		ID:     "array-rebuilding",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "While an array rebuilds or checks itself, that work shares its disks with the load.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Arrays, func(a model.Array) *model.Finding {
				if a.Action == "" || a.Action == "idle" || a.Action == "frozen" {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: a.Name + " rebuilds or checks itself",
					Observed: fmt.Sprintf("%s (%s): sync_action %s", a.Name, a.Level, a.Action),
					Fix:      "measure when it has finished; dev.raid.speed_limit_max bounds its rate",
					Source:   "Documentation/admin-guide/md.rst (sync_action)",
				}
			})
		},
	}
}
