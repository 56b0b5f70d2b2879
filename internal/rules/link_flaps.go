package rules

import (
	"fmt"

	"linerate/internal/model"
)

// flapsADay is how many carrier changes in a day are too many.
const flapsADay = 4

// Without an earlier reading of the host the changes are judged per day of uptime.
func linkFlaps() Rule {
	return Rule{
		ID:     "link-flaps",
		Limits: []model.LimiterID{model.Outage},
		Doc:    "A link that goes down again and again stops every transfer over it for seconds.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				up, known := f.Uptime.Get()
				t := c.tally(f, 20, 0, ofPort(n, "rx_packets", "carrier_changes"))
				if t == nil || t.gap == 0 && (!known || float64(t.bad) < flapsADay*max(1, up.Hours()/24)) {
					return nil
				}
				out := &model.Finding{
					Severity: Info, Title: "the link of " + n.Name + " comes and goes",
					Observed: fmt.Sprintf("%s: the carrier changed %d times in %.0f hours", n.Name, t.bad, up.Hours()),
					Fix:      "check the cable, the module and power saving (EEE) at both ends of " + n.Name,
					Source:   "Documentation/ABI/testing/sysfs-class-net (carrier_changes)",
				}
				if t.gap > 0 {
					out.Severity, out.Observed = Medium, fmt.Sprintf("%s: the carrier changed %d times %s", n.Name, t.bad, t.over(""))
				}
				return out
			})
		},
	}
}
