package rules

import (
	"fmt"

	"linerate/internal/model"
)

func smbEncrypted() Rule {
	return Rule{
		ID:     "smb-encrypted",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "With encryption a core encrypts or decrypts every byte of SMB.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				if !isSMB(m) || !o.has("seal") || speedTo(f, m) < veryFast {
					return nil
				}
				return &model.Finding{
					Severity: Info, Title: "a core encrypts each byte of " + m.Point,
					Observed: fmt.Sprintf("%s: seal, by a port of %s", m.Point, speedTo(f, m)),
					Fix:      "keep it where the network is not trusted; spread it with multichannel",
					Source:   bySystem(f, map[string]string{"": "mount.cifs(8) (seal)", "macos": "smbutil(1) of macOS (ENCRYPTION_REQUIRED)", "windows": "Get-SmbConnection (Encrypted)"}),
				}
			})
		},
	}
}
