package rules

import (
	"fmt"

	"linerate/internal/model"
)

// strictReverse: with strict reverse path filtering a packet is dropped when its answer would leave by another interface, as with two interfaces in one subnet.
func strictReverse() Rule {
	return Rule{
		ID:  "strict-reverse-path",
		Doc: "With strict reverse path filtering a packet is dropped when its answer would leave by another interface, as with two interfaces in one subnet.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, p := range sameSubnet(f) {
				if p.a.RPFilter.Or(0) != 1 && p.b.RPFilter.Or(0) != 1 {
					continue
				}
				out = append(out, model.Finding{
					Severity: Medium, Title: fmt.Sprintf("packets that arrive at the second of %s and %s are dropped", p.a.Name, p.b.Name),
					Observed: fmt.Sprintf("both are in %s; rp_filter %d and %d", p.net, p.a.RPFilter.Or(0), p.b.RPFilter.Or(0)),
					Fix:      "give each interface a subnet of its own, or set rp_filter to 2 (loose) on both",
					Source:   "RFC 3704 section 2; Documentation/networking/ip-sysctl.rst (rp_filter)",
				})
			}
			return out
		},
	}
}
