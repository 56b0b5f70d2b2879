package rules

import (
	"linerate/internal/model"
)

func smbDialect() Rule {
	return Rule{
		ID:     "smb-old-dialect",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "Old SMB dialects keep little data in flight: up to 2.0 an ordinary request moves at most 64 KiB, and 1.0 needs more round trips.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				vers := o["vers"]
				if !isSMB(m) || vers != "1.0" && vers != "2.0" {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: m.Point + " speaks SMB " + vers,
					Observed: m.Point + ": vers=" + vers,
					Fix: bySystem(f, map[string]string{
						"":        "mount " + m.Point + " with vers=3.1.1, or the highest that the server has",
						"freebsd": "mount it by NFS: FreeBSD's own mount_smbfs has no other dialect",
						"windows": "let the server speak SMB 3: Windows takes the highest that both have",
						"macos":   "let the server speak SMB 3: macOS takes the highest that both have, unless protocol_vers_map in nsmb.conf forbids it",
					}),
					Source: bySystem(f, map[string]string{"": "mount.cifs(8) (vers)", "freebsd": "mount_smbfs(8) of FreeBSD", "macos": "nsmb.conf(5) of macOS (protocol_vers_map)", "windows": "Get-SmbConnection (Dialect)"}) + "; MS-SMB2 section 2.2.4 (SMB2_GLOBAL_CAP_LARGE_MTU, from dialect 2.1)",
				}
			})
		},
	}
}
