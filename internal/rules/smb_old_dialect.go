package rules

import (
	"linerate/internal/model"
)

// smbDialect: old SMB dialects keep little under way: 1.0 moves 64 KiB at a time or so, 2.0 knows no large requests.
func smbDialect() Rule {
	return Rule{
		ID:  "smb-old-dialect",
		Doc: "Old SMB dialects keep little under way: 1.0 moves 64 KiB at a time or so, 2.0 knows no large requests.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				vers := o["vers"]
				if !isSMB(m) || vers != "1.0" && vers != "2.0" {
					return nil
				}
				out := &model.Finding{
					Severity: Medium, Title: m.Point + " speaks SMB " + vers,
					Observed: m.Point + ": vers=" + vers,
					Fix:      "mount " + m.Point + " with vers=3.1.1, or the highest that the server has",
					Source:   "mount.cifs(8) (vers); MS-SMB2 section 3.2.4.1.2 (credits)",
				}
				if vers == "1.0" {
					out.Severity = High
				}
				return out
			})
		},
	}
}
