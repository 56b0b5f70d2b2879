package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// shortQueue is a depth that is short on any path: half of the initiator's default.
const shortQueue = 16

func iscsiQueue() Rule {
	return Rule{
		ID:     "iscsi-queue-short",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "An iSCSI disk has at most as many requests outstanding as its queue depth: it can move at most depth × size / RTT.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return each(f.Disks, func(d model.Disk) *model.Finding {
				depth, ok := d.Depth.Get()
				size, ok2 := d.MaxRequest.Get()
				rtt := sessionRTT(f, d.Session)
				if d.Session == "" || !ok || depth <= 0 {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: "the queue of " + d.Name + " is short",
					Observed: fmt.Sprintf("%s (%s): queue depth %d", d.Name, d.Session, depth),
					Fix:      "raise node.session.queue_depth to 32, its default, or more, and log in again; let requests be large (max_sectors_kb)",
					Source:   "iscsid.conf (node.session.queue_depth); Documentation/ABI/stable/sysfs-block (max_sectors_kb)",
				}
				if ok2 && rtt > 0 && size > 0 {
					out.Bound = perRTT(unit.Bytes(depth)*size, rtt)
					out.Observed += fmt.Sprintf(": %d × %s / %v", depth, size, rtt)
				}
				switch speed := sessionSpeed(f, c, d.Session); {
				case out.Bound != nil && speed > 0 && *out.Bound < speed:
					out.Severity = Medium
				case depth >= shortQueue:
					return nil
				}
				return out
			})
		},
	}
}
