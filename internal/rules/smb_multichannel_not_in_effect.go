package rules

import (
	"fmt"

	"linerate/internal/model"
)

func smbChannels() Rule {
	return Rule{
		ID:     "smb-multichannel-not-in-effect",
		Limits: []model.LimiterID{model.LinkRate, model.ReceiverCPU},
		Doc:    "A mount asked for several channels and has fewer: the server offers no more addresses, or no multichannel.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				shown, asked := int(o.number("max_channels")), m.Asked.Or(0)
				want, have := max(shown, asked), m.Conns.Or(0)
				if !isSMB(m) || want < 2 || have < 1 || have >= want || m.Proto != "tcp" {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("%s has %d of %d channels", m.Point, have, want),
					Observed: fmt.Sprintf("%s: max_channels=%d%s, %d TCP connections to %s and its other addresses", m.Point, want, inFstab(asked > shown), have, m.Server),
					Fix:      "turn multichannel on at the server, and make sure that it lists its fast interfaces",
					Source:   "mount.cifs(8) (multichannel, max_channels); MS-SMB2 section 3.2.4.20.8",
				}
			})
		},
	}
}
