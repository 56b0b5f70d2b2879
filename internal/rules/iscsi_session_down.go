package rules

import (
	"fmt"

	"linerate/internal/model"
)

func iscsiDown() Rule {
	return Rule{
		ID:     "iscsi-session-down",
		Limits: []model.LimiterID{model.Outage, model.LinkRate},
		Doc:    "A path to an iSCSI target is down: its disks wait, or the other paths carry all.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.ISCSI, func(s model.ISCSISession) *model.Finding {
				if s.State == "LOGGED_IN" || s.State == "" {
					return nil
				}
				return &model.Finding{
					Severity: High, Title: s.Name + " to its iSCSI target is not logged in",
					Observed: fmt.Sprintf("%s to %s: state %s", s.Name, s.Target, s.State),
					Fix:      "see that the portal can be reached (ping, port 3260), then iscsiadm -m session -R",
					Source:   "drivers/scsi/scsi_transport_iscsi.c (session states)",
				}
			})
		},
	}
}
