package rules

import (
	"fmt"
	"time"

	"linerate/internal/model"
)

func idleRestart() Rule {
	return Rule{
		ID:     "slow-start-after-idle",
		Limits: []model.LimiterID{model.StartUp},
		Doc:    "A connection that was idle for a moment starts again with a small congestion window: on a path with long RTT this slows every burst.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			v, ok := sysctl(f, "tcp_slow_start_after_idle")
			if !ok || v != "1" || c.RTT < 10*time.Millisecond {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "bursts start slowly on this path",
				Observed: fmt.Sprintf("net.ipv4.tcp_slow_start_after_idle = 1, round trip %v", c.RTT),
				Fix:      "for request and answer over a long path set it to 0; bulk copies gain nothing",
				Source:   "RFC 2861; Documentation/networking/ip-sysctl.rst (tcp_slow_start_after_idle)",
			}}
		},
	}
}
