package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// iscsiQueue: no more requests to an iSCSI disk are under way than its queue is deep: depth × size / round trip is all it can move.
func iscsiQueue() Rule {
	return Rule{
		ID:  "iscsi-queue-short",
		Doc: "No more requests to an iSCSI disk are under way than its queue is deep: depth × size / round trip is all it can move.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachDisk(f, func(d model.Disk) *model.Finding {
				depth, ok := d.Depth.Get()
				size, ok2 := d.MaxRequest.Get()
				rtt := sessionRTT(f, d.Session)
				if d.Session == "" || !ok || depth <= 0 || depth >= 16 {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: "the queue of " + d.Name + " is short",
					Observed: fmt.Sprintf("%s (%s): queue depth %d", d.Name, d.Session, depth),
					Fix:      "raise node.session.queue_depth to 32, its default, or more, and log in again",
					Source:   "iscsid.conf (node.session.queue_depth)",
				}
				if !ok2 || rtt <= 0 || size <= 0 {
					return out
				}
				out.Bound = perRTT(unit.Bytes(depth)*size, rtt)
				out.Observed += fmt.Sprintf(": %d × %s / %v", depth, size, rtt)
				if speed := fastest(f); speed > 0 && *out.Bound < speed {
					out.Severity = Medium
				}
				return out
			})
		},
	}
}
