package model

import (
	"net/netip"
	"testing"
)

// What a route says of the way belongs to that route, and to the network of an address that it is
// of: two that differ in metric only do not share it. The lowest metric is used.
func TestRoutesThatDifferInMetric(t *testing.T) {
	near, far := netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24")
	f := &Facts{NICs: []NIC{{Name: "eth0", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}}}}
	static := func(dst netip.Prefix) Route { return Route{Dst: dst, Dev: "eth0", MTU: 1400} }
	lease := func(dst netip.Prefix) Route { return Route{Dst: dst, Dev: "eth0", Metric: 100, Window: 65536} }
	for _, tt := range []struct {
		name        string
		routes      []Route
		to          string
		mtu, window int
	}{
		{"of a connected network", []Route{lease(near)}, "192.0.2.9", 0, 65536},
		{"two of a connected network", []Route{static(near), lease(near)}, "192.0.2.9", 1400, 0},
		{"two of a connected network, the other first", []Route{lease(near), static(near)}, "192.0.2.9", 1400, 0},
		{"two behind a gateway", []Route{static(far), lease(far)}, "198.51.100.9", 1400, 0},
		{"two behind a gateway, the other first", []Route{lease(far), static(far)}, "198.51.100.9", 1400, 0},
		{"another interface's", []Route{{Dst: near, Dev: "eth1", MTU: 1400}}, "192.0.2.9", 0, 0},
	} {
		f.Routes = tt.routes
		r, ok := f.RouteTo(netip.MustParseAddr(tt.to))
		if !ok || r.Dev != "eth0" || r.MTU != tt.mtu || r.Window != tt.window {
			t.Errorf("%s: %+v, want MTU %d and window %d", tt.name, r, tt.mtu, tt.window)
		}
	}
}
