package setter_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// fakeRoutes is a routing table that cuts an MSS as the kernel does.
type fakeRoutes struct {
	table            map[kernel.RouteKey]kernel.RouteMetrics
	refuse           error
	vanish, vanished bool
}

func (f *fakeRoutes) Get(k kernel.RouteKey) (kernel.RouteMetrics, error) {
	m, ok := f.table[k]
	if !ok || f.vanished {
		return m, fmt.Errorf("find route %s: %w", k, fs.ErrNotExist)
	}
	m.Numbers = maps.Clone(m.Numbers)
	return m, nil
}

func (f *fakeRoutes) Set(k kernel.RouteKey, m kernel.RouteMetrics) error {
	if f.refuse != nil {
		return f.refuse
	}
	f.table[k], f.vanished = m, f.vanish
	return nil
}

func routePlace(setting, target string) setter.Place {
	return setter.Place{Setting: "linux.route." + setting, Target: target}
}

func TestRouteConforms(t *testing.T) {
	for name, c := range map[string]settertest.Case{
		"initcwnd": {A: "unset", B: "30", Messy: " unset ", Bad: []string{"0", "-1", "65537", "ten", "lock 10", "10 10"}},
		"initrwnd": {A: "20", B: "unset", Messy: "20\n", Bad: []string{"0"}},
		"mtu":      {A: "lock 1400", B: "8900", Messy: "lock  1400", Bad: []string{"67", "65536", "lock", "1400 lock", "lock unset"}},
		"advmss":   {A: "1360", B: "8948", Messy: "1360 ", Bad: []string{"0", "65496"}},
		"window":   {A: "65535", B: "unset", Messy: "65535 ", Bad: []string{"0", "2147483648"}},
		"quickack": {A: "0", B: "1", Messy: "0 ", Bad: []string{"2", "yes"}},
		"congctl":  {A: "reno", B: "bbr", Messy: " reno", Bad: []string{"RENO", "a b", "averyverylongname", "bbr;x"}},
	} {
		for _, target := range []string{"route:10.0.0.0/24", "route:0.0.0.0/0@100", "route:fd00:1::/64@1024"} {
			f := &fakeRoutes{table: map[kernel.RouteKey]kernel.RouteMetrics{}}
			for _, k := range []string{"10.0.0.0/24", "0.0.0.0/0@100", "fd00:1::/64@1024"} {
				f.table[mustKey(k)] = kernel.RouteMetrics{Numbers: map[string]uint32{"window": 65535, "quickack": 0}}
			}
			c.Setter, c.At = setter.Route{Routes: f}, routePlace(name, target)
			c.BadAt = nil
			for _, bad := range []string{"", "10.0.0.0/24", "route:10.0.0.1/24", "route:10.0.0.0", "route:10.0.0.0/33", "route:10.0.0.0/24@0", "route:10.0.0.0/24@-1", "route:10.0.0.0/24@4294967296", "route:fe80::%eth0/64", "if:lo"} {
				c.BadAt = append(c.BadAt, routePlace(name, bad))
			}
			c.BadAt = append(c.BadAt, routePlace("via", target))
			c.Absent = []setter.Place{routePlace(name, "route:10.9.0.0/16"), routePlace(name, "route:10.0.0.0/24@7")}
			c.Rest = func() string { return fmt.Sprint(f.table) }
			c.Refuse = func(err error) { f.refuse = err }
			c.Vanish = func() { f.vanish = true }
			t.Run(name+" of "+target, func(t *testing.T) { settertest.Conform(t, c) })
		}
	}
}

// One attribute is changed and the others stay.
func TestRouteChangesOneAttribute(t *testing.T) {
	f := &fakeRoutes{table: map[kernel.RouteKey]kernel.RouteMetrics{}}
	key := mustKey("10.0.0.0/24")
	f.table[key] = kernel.RouteMetrics{Numbers: map[string]uint32{"mtu": 1400, "initcwnd": 20}, MTULock: true, CongCtl: "reno"}
	before := fmt.Sprint(f.table[key])
	for _, step := range [][2]string{{"initcwnd", "40"}, {"congctl", "unset"}, {"mtu", "unset"}, {"mtu", "lock 1400"}, {"congctl", "reno"}, {"initcwnd", "20"}} {
		if err := (setter.Route{Routes: f}).Write(context.Background(), routePlace(step[0], "route:10.0.0.0/24"), step[1]); err != nil {
			t.Fatal(err)
		}
		if step[1] == "unset" && step[0] == "mtu" && (f.table[key].MTULock || f.table[key].Numbers["initcwnd"] != 40) {
			t.Errorf("%v", f.table[key])
		}
	}
	if after := fmt.Sprint(f.table[key]); after != before {
		t.Errorf("%s, want %s", after, before)
	}
}

func mustKey(s string) kernel.RouteKey {
	dst, metric, _ := strings.Cut(s, "@")
	k := kernel.RouteKey{Dst: netip.MustParsePrefix(dst)}
	if metric != "" {
		n, err := strconv.ParseUint(metric, 10, 32)
		if err != nil {
			panic(err)
		}
		k.Metric = uint32(n)
	}
	return k
}
