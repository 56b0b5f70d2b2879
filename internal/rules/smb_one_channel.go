package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func smbOneChannel() Rule {
	return Rule{
		ID:     "smb-one-channel",
		Limits: []model.LimiterID{model.LinkRate, model.ReceiverCPU},
		Doc:    "One SMB connection is served by one core at each end; multichannel opens several.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				if !isSMB(m) || o.has("multichannel") || !strings.HasPrefix(o["vers"], "3") || m.Conns.Or(0) != 1 || speedTo(f, m) < 25*unit.Gbit {
					return nil
				}
				return &model.Finding{
					Severity: Info, Title: m.Point + " uses one channel",
					Observed: fmt.Sprintf("%s: 1 TCP connection to %s by a port of %s", m.Point, m.Server, speedTo(f, m)),
					Fix:      "mount " + m.Point + " with multichannel,max_channels=4, and turn it on at the server",
					Source:   "mount.cifs(8) (multichannel)",
				}
			})
		},
	}
}
