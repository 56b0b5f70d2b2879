package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/size"
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
					most := size.ScaledWindow(r.Window)
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
