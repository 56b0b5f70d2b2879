package rules

import "linerate/internal/model"

func pairSendBuffer() PairRule {
	return PairRule{
		ID:     "pair-send-buffer-below-bdp",
		Limits: []model.LimiterID{model.SendBuffer},
		Doc:    "The largest send buffer of a host is smaller than the rate of the path times its measured round trip: one connection cannot fill it.",
		Check:  pairBuffers("tcp_wmem", "RFC 7323 section 1.1; Documentation/networking/ip-sysctl.rst", sendSide),
	}
}
