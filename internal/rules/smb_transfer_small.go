package rules

import (
	"fmt"

	"linerate/internal/model"
)

func smbTransfer() Rule {
	return Rule{
		ID:     "smb-transfer-small",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "Small SMB transfers cost a request, and its round trip and CPU time, for every few KiB.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				size := min(o.number("rsize"), o.number("wsize"))
				if !isSMB(m) || size <= 0 || size > 256<<10 || o["vers"] == "1.0" || o["vers"] == "2.0" {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: m.Point + " moves small pieces",
					Observed: fmt.Sprintf("%s: rsize=%d wsize=%d", m.Point, o.number("rsize"), o.number("wsize")),
					Fix:      "take rsize and wsize out of the mount options: the default is what both ends allow, 1 MiB and more from dialect 2.1 on",
					Source:   "mount.cifs(8) (rsize, wsize); MS-SMB2 section 3.3.5.4 (MaxReadSize)",
				}
			})
		},
	}
}
