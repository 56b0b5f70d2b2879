package rules

import (
	"fmt"

	"linerate/internal/model"
)

func switchDiscards() Rule {
	return Rule{
		ID:     "switch-port-discards",
		Limits: []model.LimiterID{model.PathQueue, model.PathLoss},
		Doc:    "The switch dropped or damaged frames at the host's port between two readings: its buffer is too small for the bursts, or the cable is bad.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachSwitchPort(f, func(n *model.NIC, p model.SwitchPort) *model.Finding {
				rose := p.Rose.Or(nil)
				dropped, bad := rose["in_discards"]+rose["out_discards"], rose["in_errors"]+rose["out_errors"]
				if dropped+bad == 0 {
					return nil
				}
				return &model.Finding{
					Severity: Medium,
					Title:    fmt.Sprintf("the switch drops frames at the port of %s", n.Name),
					Observed: fmt.Sprintf("%s: between two readings %d more discards (%d towards the host) and %d more errors, beside %d packets", switchPortText(p), dropped, rose["out_discards"], bad, rose["in_packets"]+rose["out_packets"]),
					Fix:      "discards towards the host: flow control, a deeper buffer or shared-buffer profile, or senders no faster than the port; errors: cable, optics, duplex",
					Source:   "RFC 2863 (ifInDiscards, ifOutDiscards, ifInErrors, ifOutErrors)",
				}
			})
		},
	}
}
