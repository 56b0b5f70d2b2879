package rules

import (
	"fmt"

	"linerate/internal/model"
)

func diskReadahead() Rule {
	return Rule{
		ID:     "disk-readahead-small",
		Limits: []model.LimiterID{model.RequestConcurrency, model.ServerTime},
		Doc:    "With little read-ahead a sequential reader waits for the disk after every few KiB.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Disks, func(d model.Disk) *model.Finding {
				ahead, ok := d.Ahead.Get()
				if !ok || ahead >= 64*1024 || d.Session == "" && !d.Rotational.Or(false) {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: d.Name + " reads little ahead",
					Observed: fmt.Sprintf("%s: read_ahead_kb %d", d.Name, ahead/1024),
					Fix:      "set read_ahead_kb of " + d.Name + " to 128, its default, or more for streams",
					Source:   "Documentation/ABI/stable/sysfs-block (read_ahead_kb)",
				}
			})
		},
	}
}
