package rules

import (
	"fmt"
	"strings"

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
				large := rose["too_large"]
				if dropped+bad+large == 0 {
					return nil
				}
				observed := fmt.Sprintf("%s: between two readings %d more discards (%d towards the host) and %d more errors, beside %d packets", switchPortText(p), dropped, rose["out_discards"], bad, rose["in_packets"]+rose["out_packets"])
				if large > 0 {
					observed += fmt.Sprintf("; %d frames were larger than it carries", large)
				}
				observed += fullQueues(p)
				return &model.Finding{
					Severity: Medium,
					Title:    fmt.Sprintf("the switch drops frames at the port of %s", n.Name),
					Observed: observed,
					Fix:      "discards towards the host: flow control, a deeper buffer or shared-buffer profile, or senders no faster than the port; errors: cable, optics, duplex; too large: the MTU of this port and its VLAN",
					Source:   "RFC 2863 (ifInDiscards, ifOutDiscards, ifInErrors, ifOutErrors); RFC 4188 (dot1dBasePortMtuExceededDiscards)",
				}
			})
		},
	}
}

// fullQueues names the queues of a port that dropped between two readings, or says that the
// switch does not tell.
func fullQueues(p model.SwitchPort) string {
	queues, ok := p.Queues.Get()
	if !ok {
		return "; it does not tell which of its queues dropped"
	}
	var named []string
	for _, q := range queues {
		n := q.Rose.Or(0)
		if n == 0 {
			continue
		}
		way := "towards the host"
		if q.In {
			way = "from the host"
		}
		named = append(named, fmt.Sprintf("queue %s %s dropped %d", q.Queue, way, n))
	}
	if named == nil {
		return "; none of the queues that it tells of dropped"
	}
	return "; " + strings.Join(named, ", ")
}
