package rules

import (
	"fmt"
	"slices"

	"linerate/internal/model"
)

func strictReverse() Rule {
	return Rule{
		ID:     "strict-reverse-path",
		Limits: []model.LimiterID{model.Outage},
		Doc:    "With strict reverse path filtering a packet is dropped when its answer would leave by another interface, as with two interfaces in one subnet.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, p := range sameSubnet(f) {
				// Replies leave by the interface of the subnet's route; if the other interface
				// filters strictly, it drops what arrives there.
				second := p.b
				if i := slices.IndexFunc(f.Routes, func(r model.Route) bool { return r.Dst == p.net }); i < 0 {
					continue
				} else if f.Routes[i].Dev == p.b.Name {
					second = p.a
				}
				if mode, ok := second.RPFilter.Get(); !ok || mode != 1 || !p.net.Addr().Is4() {
					continue
				}
				out = append(out, model.Finding{
					Severity: Medium, Title: "packets that arrive at " + second.Name + " are dropped",
					Observed: fmt.Sprintf("%s and %s are both in %s, answers leave by the other; rp_filter of %s is 1", p.a.Name, p.b.Name, p.net, second.Name),
					Fix:      "give each interface a subnet of its own, or set rp_filter to 2 (loose)",
					Source:   "RFC 3704 section 2; Documentation/networking/ip-sysctl.rst (rp_filter)",
				})
			}
			for _, d := range detours(f) {
				if mode, ok := d.port.RPFilter.Get(); !ok || mode != 1 || !d.route.Dst.Addr().Is4() {
					continue
				}
				out = append(out, model.Finding{
					Severity: High, Title: fmt.Sprintf("what %s sends to %s is dropped", d.route.Dst, d.port.Name),
					Observed: fmt.Sprintf("answers to %s leave by %s, though %s is on its network; rp_filter of %s is 1", d.route.Dst, d.via.Name, d.port.Name, d.port.Name),
					Fix:      fmt.Sprintf("take the route to %s by %s away, or set rp_filter of %s to 2 (loose)", d.route.Dst, d.via.Name, d.port.Name),
					Source:   "RFC 3704 section 2.2; Documentation/networking/ip-sysctl.rst (rp_filter)",
				})
			}
			return out
		},
	}
}
