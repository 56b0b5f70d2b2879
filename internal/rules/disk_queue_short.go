package rules

import (
	"fmt"

	"linerate/internal/model"
)

// diskRequests: a short request queue makes writers wait and leaves little to merge.
func diskRequests() Rule {
	return Rule{
		ID:  "disk-queue-short",
		Doc: "A short request queue makes writers wait and leaves little to merge.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachDisk(f, func(d model.Disk) *model.Finding {
				n, ok := d.Requests.Get()
				if !ok || n <= 0 || n >= 32 {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: "the request queue of " + d.Name + " is short",
					Observed: fmt.Sprintf("%s: nr_requests %d", d.Name, n),
					Fix:      "set nr_requests of " + d.Name + " back to its default",
					Source:   "Documentation/ABI/stable/sysfs-block (nr_requests)",
				}
			})
		},
	}
}
