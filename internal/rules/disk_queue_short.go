package rules

import (
	"fmt"

	"linerate/internal/model"
)

func diskRequests() Rule {
	return Rule{
		ID:     "disk-queue-short",
		Limits: []model.LimiterID{model.RequestConcurrency, model.ServerTime},
		Doc:    "A request queue that is shorter than the device's own queue depth cannot keep the device busy, and leaves few requests to merge.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Disks, func(d model.Disk) *model.Finding {
				n, ok := d.Requests.Get()
				depth, ok2 := d.Depth.Get()
				// A device that takes one request at a time needs only a short queue: twice its
				// depth is the default (block/blk-mq-sched.c).
				if !ok || !ok2 || n <= 0 || n >= 32 || n >= depth {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: "the request queue of " + d.Name + " is short",
					Observed: fmt.Sprintf("%s: nr_requests %d, the device takes %d at once", d.Name, n, depth),
					Fix:      "set nr_requests of " + d.Name + " back to its default",
					Source:   "Documentation/ABI/stable/sysfs-block (nr_requests)",
				}
			})
		},
	}
}
