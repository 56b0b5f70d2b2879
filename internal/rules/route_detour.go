package rules

import (
	"fmt"
	"net/netip"
	"slices"

	"linerate/internal/model"
)

// detour is a route that leads part of a port's own subnet through another one.
type detour struct {
	route model.Route
	port  *model.NIC // that has the subnet
	via   *model.NIC // that the route uses
}

// detours finds such routes of the interfaces that are up, each with the first port whose subnet
// it leaves. A route with the prefix length of the subnet means two ports in one subnet, which
// other rules judge.
func detours(f *model.Facts) []detour {
	type subnet struct {
		net  netip.Prefix
		port *model.NIC
	}
	var subnets []subnet
	up := map[string]*model.NIC{}
	for i := range f.NICs {
		n := &f.NICs[i]
		if !n.Up {
			continue
		}
		if up[n.Name] == nil {
			up[n.Name] = n
		}
		if n.Master != "" || n.Name == "lo" {
			continue
		}
		for _, p := range networks(n) {
			subnets = append(subnets, subnet{p, n})
		}
	}
	var out []detour
	for _, r := range f.Routes {
		via := up[r.Dev]
		if via == nil || !r.Dst.IsValid() {
			continue
		}
		i := slices.IndexFunc(subnets, func(s subnet) bool {
			return s.port.Name != via.Name && s.net.Bits() < r.Dst.Bits() && s.net.Contains(r.Dst.Addr())
		})
		if i >= 0 {
			out = append(out, detour{r, subnets[i].port, via})
		}
	}
	return out
}

func routeDetour() Rule {
	return Rule{
		ID:     "route-detour",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "A route sends traffic for a host on one port's own network through another port: the fast port stays idle, and answers may take another path.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(detours(f), func(d detour) *model.Finding {
				found := &model.Finding{
					Severity: Low, Title: fmt.Sprintf("traffic to %s goes by %s, though %s is on its network", d.route.Dst, d.via.Name, d.port.Name),
					Observed: fmt.Sprintf("route %s dev %s; %s has an address of that network", d.route.Dst, d.via.Name, d.port.Name),
					Fix:      fmt.Sprintf("ip route del %s dev %s, unless %s is to carry less on purpose", d.route.Dst, d.via.Name, d.port.Name),
					Source:   "RFC 1812 section 5.2.4.3 (longest match); ip-route(8)",
				}
				slow, ok := d.via.Speed.Get()
				if fast, ok2 := d.port.Speed.Get(); ok && ok2 && slow < fast {
					found.Severity, found.Bound = Medium, &slow
					found.Observed += fmt.Sprintf("; %s runs at %s, %s at %s", d.via.Name, slow, d.port.Name, fast)
				}
				return found
			})
		},
	}
}
