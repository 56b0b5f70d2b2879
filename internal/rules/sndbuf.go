package rules

import (
	"fmt"

	"linerate/internal/model"
)

// sendBuffer: as receiveBuffer, for the sending side. What is sent stays in
// the send buffer until it is acknowledged; payload is about three quarters of
// the buffer, the rest is the kernel's bookkeeping (skb truesize).
func sendBuffer() Rule {
	return Rule{
		ID:  "send-buffer-below-bdp",
		Doc: "The largest TCP send buffer is smaller than rate × RTT: as a sender this host cannot keep enough in flight.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			_, most, ok := triple(f, "tcp_wmem")
			bdp := c.BDP()
			if !ok || bdp == 0 || most/4*3 >= bdp {
				return nil
			}
			found := model.Finding{
				Severity: Medium,
				Title:    "the send buffer may be too small for this path",
				Observed: fmt.Sprintf("net.ipv4.tcp_wmem allows %s, of which about three quarters are payload; %s at %v need %s in flight", most, c.LineRate, c.RTT, bdp),
				Bound:    perRTT(most, c.RTT),
				Fix:      fmt.Sprintf("raise the maximum of net.ipv4.tcp_wmem to at least %s", 2*bdp),
				Source:   "net/ipv4/tcp_input.c (tcp_sndbuf_expand); Documentation/networking/ip-sysctl.rst",
			}
			if most < bdp {
				found.Severity, found.Title = High, "the send buffer is too small for this path"
			}
			return []model.Finding{found}
		},
	}
}
