package rules

import (
	"fmt"

	"linerate/internal/model"
)

func diskRequestSize() Rule {
	return Rule{
		ID:     "disk-request-small",
		Limits: []model.LimiterID{model.RequestConcurrency, model.ServerTime},
		Doc:    "A low limit on the size of requests splits large reads and writes.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Disks, func(d model.Disk) *model.Finding {
				size, ok := d.MaxRequest.Get()
				most, ok2 := d.HWRequest.Get()
				if !ok || !ok2 || size <= 0 || size >= 128*1024 || most < 4*size {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: "requests to " + d.Name + " are kept small",
					Observed: fmt.Sprintf("%s: max_sectors_kb %d, the device takes %d", d.Name, size/1024, most/1024),
					Fix:      "raise max_sectors_kb of " + d.Name,
					Source:   "Documentation/ABI/stable/sysfs-block (max_sectors_kb)",
				}
			})
		},
	}
}
