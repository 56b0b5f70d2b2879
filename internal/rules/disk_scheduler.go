package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
)

func diskScheduler() Rule {
	return Rule{
		ID:     "disk-scheduler",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "BFQ costs CPU time for each request and may wait for the next one of the same program, which a remote disk or flash does not need.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.Disks, func(d model.Disk) *model.Finding {
				s, ok := d.Scheduler.Get()
				fast := d.Session != "" || strings.HasPrefix(d.Name, "nvme")
				if !ok || s != "bfq" && s != "cfq" || !fast {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: fmt.Sprintf("%s is scheduled by %s", d.Name, s),
					Observed: fmt.Sprintf("%s: scheduler %s", d.Name, s),
					Fix:      "set the scheduler of " + d.Name + " to none or mq-deadline",
					Source:   "Documentation/block/switching-sched.rst; Documentation/block/bfq-iosched.rst",
				}
			})
		},
	}
}
