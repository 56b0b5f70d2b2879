package rules

import (
	"fmt"

	"linerate/internal/model"
)

func interruptPerPacket() Rule {
	return Rule{
		ID:     "interrupt-per-packet",
		Limits: []model.LimiterID{model.ReceiverCPU},
		Doc:    "Without coalescing a fast port raises an interrupt for each packet until its core polls, which wastes CPU time whenever the core is not fully loaded.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				co, ok := n.Coalesce.Get()
				if !ok || co.AdaptiveRx || co.RxUsecs > 0 || co.RxFrames > 1 || n.Speed.Or(0) < veryFast {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: n.Name + " interrupts for each packet",
					Observed: fmt.Sprintf("%s (%s): adaptive-rx off, rx-usecs 0, rx-frames %d", n.Name, n.Speed.Value, co.RxFrames),
					Fix:      "turn on adaptive-rx of " + n.Name + ", or set rx-usecs to 8 or so (ethtool -C)",
					Source:   "ethtool(8) (--coalesce); Documentation/networking/napi.rst (interrupt coalescing)",
				}
			})
		},
	}
}
