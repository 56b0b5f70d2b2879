package rules

import (
	"fmt"

	"linerate/internal/model"
)

// receiveBuffer: the largest receive buffer against what must be in flight.
// About half of the buffer is window (scaling_ratio in net/ipv4/tcp_input.c
// starts there, tcp_adv_win_scale 1 before 6.6); the window never exceeds it.
func receiveBuffer() Rule {
	return Rule{
		ID:  "receive-buffer-below-bdp",
		Doc: "The largest TCP receive buffer is smaller than rate × RTT: as a receiver this host closes the window before the path is full.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			_, most, ok := triple(f, "tcp_rmem")
			bdp := c.BDP()
			if !ok || bdp == 0 || most >= 2*bdp {
				return nil
			}
			found := model.Finding{
				Severity: Medium,
				Title:    "the receive buffer may be too small for this path",
				Observed: fmt.Sprintf("net.ipv4.tcp_rmem allows %s, of which about half is window; %s at %v need %s in flight", most, c.LineRate, c.RTT, bdp),
				Bound:    perRTT(most, c.RTT),
				Fix:      fmt.Sprintf("raise the maximum of net.ipv4.tcp_rmem to at least %s", 2*bdp),
				Source:   "RFC 7323 section 1.1; net/ipv4/tcp_input.c; Documentation/networking/ip-sysctl.rst",
			}
			if most < bdp {
				found.Severity, found.Title = High, "the receive buffer is too small for this path"
			}
			return []model.Finding{found}
		},
	}
}
