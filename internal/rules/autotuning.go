package rules

import (
	"fmt"

	"linerate/internal/model"
)

func receiveAutotuning() Rule {
	return Rule{
		ID:     "receive-autotuning-off",
		Limits: []model.LimiterID{model.ReceiverWindow},
		Doc:    "With receive buffer autotuning off every receive buffer stays at its default, however long the path.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			found := model.Finding{
				Severity: Medium,
				Title:    "receive buffers do not grow with the path",
				Fix:      "set net.ipv4.tcp_moderate_rcvbuf to 1, its default",
				Source:   "Documentation/networking/ip-sysctl.rst (tcp_moderate_rcvbuf)",
			}
			out := switchedOff(f, "tcp_moderate_rcvbuf", found)
			def, _, ok := triple(f, "tcp_rmem")
			if len(out) == 0 || !ok {
				return out
			}
			out[0].Observed += fmt.Sprintf(": the buffer stays at %s", def)
			if bdp := c.BDP(); bdp > 0 {
				out[0].Bound = perRTT(def, c.RTT)
				if def < bdp {
					out[0].Severity = High
				}
			}
			return out
		},
	}
}
