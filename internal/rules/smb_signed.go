package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
)

func smbSigned() Rule {
	return Rule{
		ID:     "smb-signed",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "With signing a core computes a signature over every byte.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				sec := o["sec"]
				signed := o.has("sign") || strings.HasPrefix(sec, "ntlm") && strings.HasSuffix(sec, "i") || sec == "krb5i"
				if !isSMB(m) || !signed || o.has("seal") {
					return nil
				}
				out := &model.Finding{
					Severity: Info, Title: "a core signs each byte of " + m.Point,
					Observed: m.Point + ": signing is on",
					Fix:      "keep it unless the network is trusted; dialect 3.1.1 with AES-GMAC, and several channels, make it cheaper",
					Source:   bySystem(f, map[string]string{"": "mount.cifs(8) (sign)", "macos": "smbutil(1) of macOS (SIGNING_ON); nsmb.conf(5) (signing_required)", "windows": "Get-SmbConnection (Signed)"}) + "; MS-SMB2 section 3.1.4.1",
				}
				if sec != "" {
					out.Observed = fmt.Sprintf("%s: sec=%s", m.Point, sec)
				}
				if speed := speedTo(f, m); speed >= veryFast {
					out.Severity = Low
					out.Observed += fmt.Sprintf(", by a port of %s", speed)
				}
				return out
			})
		},
	}
}
