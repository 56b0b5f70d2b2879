package rules

import (
	"fmt"
	"math"
	"math/bits"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func routeWindow() Rule {
	return Rule{
		ID:     "route-window-limited",
		Limits: []model.LimiterID{model.ReceiverWindow},
		Doc:    "A route with a window limit allows every connection that uses it at most that many bytes per RTT.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return each(f.Routes, func(r model.Route) *model.Finding {
				if r.Window <= 0 {
					return nil
				}
				found := &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("the route to %s limits the window", r.Dst),
					Observed: fmt.Sprintf("route %s dev %s window %d", r.Dst, r.Dev, r.Window),
					Fix:      "take the window out of the route",
					Source:   "ip-route(8)",
				}
				if c.RTT > 0 {
					most := scaledWindow(r.Window)
					found.Bound = perRTT(most, c.RTT)
					found.Observed += fmt.Sprintf(": %s per %v, with the scale that connections choose for it", most, c.RTT)
					if *found.Bound < c.LineRate {
						found.Severity = High
					}
				}
				return found
			})
		},
	}
}

// scaledWindow is the largest window of a connection whose route limits it. The kernel chooses the
// window scale by the limit, and lets the window grow beyond it as the buffer grows, as far as that
// scale can express (net/ipv4/tcp_output.c, tcp_select_initial_window; tcp_input.c,
// tcp_rcv_space_adjust).
func scaledWindow(limit int) unit.Bytes {
	return unit.Bytes(math.MaxUint16 << max(0, bits.Len(uint(limit))-16))
}
