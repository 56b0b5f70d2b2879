package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func nfsOneConnection() Rule {
	return Rule{
		ID:     "nfs-one-connection",
		Limits: []model.LimiterID{model.LinkRate, model.ReceiverCPU},
		Doc:    "One TCP connection is served by one core at each end, and by one port of a bond.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				n := nicNamed(f, m.Dev)
				if !isNFS(m) || m.Proto != "tcp" || n == nil || m.Conns.Or(0) != 1 || o.number("nconnect") > 1 {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: m.Point + " uses one connection",
					Observed: fmt.Sprintf("%s: 1 TCP connection to %s by %s (%s)", m.Point, m.Server, m.Dev, n.Speed.Or(0)),
					Fix:      "mount the first mount of this server with nconnect=4 or more",
					Source:   "nfs(5) (nconnect, Linux 5.3)",
				}
				if b, ok := n.Bond.Get(); ok && upPorts(b) > 1 {
					if speed := fastestPort(b); speed > 0 && !strings.Contains(b.Mode, "round-robin") {
						out.Bound = &speed
						out.Observed += fmt.Sprintf("; one port of the bond carries %s", speed)
					}
					return out
				}
				if n.Speed.Or(0) < 40*unit.Gbit {
					return nil
				}
				return out
			})
		},
	}
}
