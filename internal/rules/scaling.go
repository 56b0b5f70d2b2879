package rules

import (
	"linerate/internal/model"
	"linerate/internal/size"
)

func windowScaling() Rule {
	return Rule{
		ID:     "window-scaling-off",
		Limits: []model.LimiterID{model.ReceiverWindow},
		Doc:    "Without window scaling no more than 64 KiB can be in flight, in either direction.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			found := model.Finding{
				Severity: Medium,
				Title:    "windows are limited to 64 KiB",
				Fix:      "set net.ipv4.tcp_window_scaling to 1, its default; it acts on new connections",
				Source:   "RFC 7323 section 2",
			}
			if c.RTT > 0 {
				found.Bound = perRTT(size.UnscaledWindow, c.RTT)
				if c.LineRate > *found.Bound {
					found.Severity = High
				}
			}
			return switchedOff(f, "tcp_window_scaling", found)
		},
	}
}
