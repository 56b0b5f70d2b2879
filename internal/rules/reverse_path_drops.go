package rules

import (
	"fmt"

	"linerate/internal/model"
)

// reversePathDrops: packets were dropped because their answer would leave by another interface.
func reversePathDrops() Rule {
	return Rule{
		ID:  "reverse-path-drops",
		Doc: "Packets were dropped because their answer would leave by another interface.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			count, ok := f.NetCounters.Get()
			if !ok {
				return nil
			}
			n := count["TcpExt.IPReversePathFilter"]
			if n < 100 || float64(n) < 1e-4*float64(count["Ip.InReceives"]) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "packets arrive by another way than answers leave",
				Observed: fmt.Sprintf("IPReversePathFilter %d of %d packets", n, count["Ip.InReceives"]),
				Fix:      "repair the routes so that both ways use one interface, or set rp_filter to 2",
				Source:   "Documentation/networking/ip-sysctl.rst (rp_filter); RFC 3704",
			}}
		},
	}
}
