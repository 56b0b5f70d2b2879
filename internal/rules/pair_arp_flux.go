package rules

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/model"
)

func pairARPFlux() PairRule {
	return PairRule{
		ID:     "pair-arp-flux",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "Another port of the host answers ARP for its data address, so that what is sent to one port arrives at another.",
		Check: func(p *model.Pair) []model.Finding {
			return eachWay(p, func(from, to *model.PairEnd, c model.Crossing) *model.Finding {
				l, own := inFlux(from, to)
				if len(own) == 0 {
					return nil
				}
				found := &model.Finding{
					Severity: Medium, Host: to.Name,
					Title:    fmt.Sprintf("what %s sends to %s of %s arrives at %s", from.Name, to.Meant, to.Name, own[0]),
					Observed: fmt.Sprintf("for %s, the address of %s, %s knows %s, which is %s of %s%s", to.Addr, to.Meant, from.Name, l.NextMAC, strings.Join(own, " or "), to.Name, arrived(c)),
					Fix:      fmt.Sprintf("on %s put each interface into a subnet of its own, join them in a bond, or set arp_ignore=1 and arp_announce=2; then on %s ip neigh flush %s", to.Name, from.Name, to.Addr),
					Source:   "Documentation/networking/ip-sysctl.rst (arp_ignore, arp_announce); RFC 1122 section 3.3.4.2",
				}
				used, should := portSpeed(nicNamed(to.Facts, own[0])), portSpeed(meant(to))
				if used > 0 && used < should {
					found.Severity, found.Bound = High, &used
				}
				return found
			})
		},
	}
}

// inFlux returns the other ports of the far end that answer ARP for its data address; none if the
// right port answers, or the facts do not show who does.
func inFlux(from, to *model.PairEnd) (model.Leaving, []string) {
	l, own, ok := nextHop(from, to)
	same := func(name string) bool { return name == to.Meant || samePort(to.Facts, name, to.Meant) }
	if !ok || slices.ContainsFunc(own, same) {
		return l, nil
	}
	return l, own
}

func arrived(c model.Crossing) string {
	if len(c.ArrivedBy) == 0 {
		return ""
	}
	return "; probes came in by " + strings.Join(c.ArrivedBy, " and ")
}

// nextHop returns the neighbour entry that the sender has for the far end's address, and the far
// end's interfaces with that hardware address. ok is false if a gateway is between them, or one
// of the two is unknown.
func nextHop(from, to *model.PairEnd) (l model.Leaving, own []string, ok bool) {
	l, ok = from.Leaving.Get()
	macs, ok2 := to.MACs.Get()
	if !ok || !ok2 || l.Gateway.IsValid() || l.NextMAC == "" || to.Facts == nil || meant(to) == nil {
		return l, nil, false
	}
	for name, mac := range macs {
		if strings.EqualFold(mac, l.NextMAC) {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return l, own, true
}
