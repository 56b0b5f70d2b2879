package rules

import (
	"fmt"

	"linerate/internal/model"
)

func interruptDelay() Rule {
	return Rule{
		ID:  "interrupt-delay-long",
		Doc: "A NIC that waits long before it interrupts adds that time to every round trip, which small requests pay in full.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				co, ok := n.Coalesce.Get()
				if !ok || co.AdaptiveRx || co.RxUsecs < 200 {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: fmt.Sprintf("%s waits up to %d µs before it interrupts", n.Name, co.RxUsecs),
					Observed: fmt.Sprintf("%s: adaptive-rx off, rx-usecs %d", n.Name, co.RxUsecs),
					Fix:      "turn on adaptive-rx of " + n.Name + ", or lower rx-usecs (ethtool -C)",
					Source:   "ethtool(8), coalesce",
				}
			})
		},
	}
}
