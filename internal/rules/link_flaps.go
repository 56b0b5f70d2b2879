package rules

import (
	"fmt"

	"linerate/internal/model"
)

// linkFlaps: a link that goes down again and again stops every transfer over it for seconds.
func linkFlaps() Rule {
	return Rule{
		ID:  "link-flaps",
		Doc: "A link that goes down again and again stops every transfer over it for seconds.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				changes, ok := counter(n, "carrier_changes")
				up, known := f.Uptime.Get()
				if !ok || !known || changes < 20 || float64(changes) < 4*max(1, up.Hours()/24) {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: "the link of " + n.Name + " comes and goes",
					Observed: fmt.Sprintf("%s: the carrier changed %d times in %.0f hours", n.Name, changes, up.Hours()),
					Fix:      "check the cable, the module and power saving (EEE) at both ends of " + n.Name,
					Source:   "Documentation/ABI/testing/sysfs-class-net (carrier_changes)",
				}
			})
		},
	}
}
