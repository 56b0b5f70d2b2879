package rules

import (
	"fmt"

	"linerate/internal/model"
)

func arrayDegraded() Rule {
	return Rule{
		ID:     "array-degraded",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "An array with a missing disk reconstructs its data by reading all others, and has little or no redundancy left.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Arrays, func(a model.Array) *model.Finding {
				if n, ok := a.Degraded.Get(); ok && n > 0 {
					return &model.Finding{
						Severity: High, Title: a.Name + " has lost a disk",
						Observed: fmt.Sprintf("%s (%s): %d missing", a.Name, a.Level, n),
						Fix:      "replace the disk: mdadm --detail /dev/" + a.Name,
						Source:   "Documentation/admin-guide/md.rst (degraded)",
					}
				}
				return nil
			})
		},
	}
}
