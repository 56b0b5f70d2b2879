package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairSlowPort() PairRule {
	return PairRule{
		ID:     "pair-wrong-port",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "Traffic for the other host leaves by another interface than the fastest one that both have a network on: a route sends it over the wrong, often slower, port.",
		Check: func(p *model.Pair) []model.Finding {
			return eachWay(p, func(from, to *model.PairEnd, c model.Crossing) *model.Finding {
				l, wrong := wrongPort(from, to)
				if !wrong {
					return nil
				}
				used, m := nicNamed(from.Facts, l.Interface), meant(from)
				found := &model.Finding{
					Severity: Medium, Host: from.Name,
					Title:    fmt.Sprintf("%s sends to %s by %s, not by %s", from.Name, to.Name, l.Interface, m.Name),
					Observed: fmt.Sprintf("%s from %s leaves by %s%s; %s is in one network with it%s", to.Addr, from.Addr, portText(used, l.Interface), via(l), portText(m, m.Name), arrived(c)),
					Fix:      fmt.Sprintf("on %s see ip route get %s from %s, and remove the route or rule that leads it to %s", from.Name, to.Addr, from.Addr, l.Interface),
					Source:   "ip-route(8); ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide",
				}
				if s := portSpeed(used); s > 0 && s < portSpeed(m) {
					found.Severity, found.Bound = High, &s
				}
				return found
			})
		},
	}
}

// wrongPort reports whether an end sends through another port than the one that shares a
// network with the other end. Between routed networks it is false, since the facts do not show
// which port is meant there.
func wrongPort(from, to *model.PairEnd) (model.Leaving, bool) {
	l, ok := from.Leaving.Get()
	m, far := meant(from), meant(to)
	if !ok || m == nil || far == nil || l.Interface == m.Name || samePort(from.Facts, l.Interface, m.Name) {
		return l, false
	}
	_, common := commonNet(*m, *far)
	return l, common
}

// samePort tells whether one interface is stacked on the other (VLAN, macvlan, port of a bond),
// so that both use the same wire. The facts show stacking only for ports of a bond or bridge.
func samePort(f *model.Facts, a, b string) bool {
	x, y := nicNamed(f, a), nicNamed(f, b)
	return x != nil && y != nil && (x.Master == b || y.Master == a)
}

func portText(n *model.NIC, name string) string {
	if n == nil {
		return name
	}
	out := fmt.Sprintf("%s (MTU %d", n.Name, n.MTU)
	if s := portSpeed(n); s > 0 {
		out += ", " + s.String()
	}
	return out + ")"
}

func via(l model.Leaving) string {
	if !l.Gateway.IsValid() {
		return ""
	}
	return " via " + l.Gateway.String()
}
