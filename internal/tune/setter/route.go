package setter

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"linerate/internal/kernel"
)

// Prefixes of this mechanism's ids and targets: linux.route.initcwnd of "route:10.0.0.0/24", or
// of "route:0.0.0.0/0@100" for a route with metric 100.
const (
	routePrefix       = "linux.route."
	routeTargetPrefix = "route:"
	routeCongCtl      = routePrefix + "congctl"
	routeMTU          = routePrefix + "mtu"
	routeUnset        = "unset"
)

// Routes reads and changes the attributes of a route; the kernel package implements it by
// rtnetlink.
type Routes interface {
	Get(key kernel.RouteKey) (kernel.RouteMetrics, error)
	Set(key kernel.RouteKey, m kernel.RouteMetrics) error
}

// Route sets the attributes that TCP takes from a route of the main table: mtu, advmss (bytes),
// initcwnd, initrwnd (segments), window (bytes), quickack (0, 1) and congctl (a name). "unset"
// removes the attribute; "lock 1400" is an MTU that path discovery does not change. It neither
// adds nor removes a route and changes none of its other attributes.
type Route struct{ Routes Routes }

// routeLimits are the numbers that net/ipv4/metrics.c accepts: it would silently reduce an MTU
// above 65535-15 and an MSS above 65535-40.
func routeLimits(setting string) (string, limits, bool) {
	name := strings.TrimPrefix(setting, routePrefix)
	l, ok := map[string]limits{
		"mtu": {68, 65535 - 15, false}, "advmss": {1, 65535 - 40, false}, "window": {1, 1<<31 - 1, false},
		"initcwnd": {1, 1 << 16, false}, "initrwnd": {1, 1 << 16, false}, "quickack": {0, 1, false}, "congctl": {},
	}[name]
	return name, l, ok && strings.HasPrefix(setting, routePrefix)
}

func (Route) Owns(setting string) bool { _, _, ok := routeLimits(setting); return ok }

func (Route) Canonical(at Place, value string) (string, error) {
	if _, err := routeKey(at); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if len(words) == 1 && words[0] == routeUnset {
		return routeUnset, nil
	}
	locked := at.Setting == routeMTU && words[0] == "lock" && len(words) == 2
	if locked {
		words = words[1:]
	}
	if len(words) != 1 {
		return "", fmt.Errorf("value %q of %s: want one value, or unset: %w", value, at, ErrValue)
	}
	v := words[0]
	if at.Setting == routeCongCtl {
		if len(v) > 15 || strings.Trim(v, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			return "", fmt.Errorf("value %q of %s: no name of a congestion control: %w", value, at, ErrValue)
		}
		return v, nil
	}
	_, l, _ := routeLimits(at.Setting)
	n, err := numberIn(at, "value", v, l)
	if err != nil {
		return "", err
	}
	if v = strconv.FormatInt(n, 10); locked {
		v = "lock " + v
	}
	return v, nil
}

// routeKey parses a target.
func routeKey(at Place) (kernel.RouteKey, error) {
	if _, _, ok := routeLimits(at.Setting); !ok {
		return kernel.RouteKey{}, fmt.Errorf("route %s: want linux.route.mtu, advmss, window, initcwnd, initrwnd, quickack or congctl: %w", at, ErrValue)
	}
	rest, ok := strings.CutPrefix(at.Target, routeTargetPrefix)
	dst, metric, many := strings.Cut(rest, "@")
	p, err := netip.ParsePrefix(dst)
	if !ok || err != nil || p != p.Masked() || p.Addr().Zone() != "" || p.String() != dst {
		return kernel.RouteKey{}, fmt.Errorf("route %s: want a target such as route:10.0.0.0/24 or route:0.0.0.0/0@100, with no bits beyond the prefix: %w", at, ErrValue)
	}
	k := kernel.RouteKey{Dst: p}
	if many {
		n, err := numberIn(at, "metric", metric, limits{1, 1<<32 - 1, false})
		if err != nil {
			return k, err
		}
		k.Metric = uint32(n)
	}
	return k, nil
}

func (r Route) Read(_ context.Context, at Place, _ string) (string, error) {
	key, err := routeKey(at)
	if err != nil {
		return "", err
	}
	m, err := r.Routes.Get(key)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	if at.Setting == routeCongCtl {
		if m.CongCtl == "" {
			return routeUnset, nil
		}
		return m.CongCtl, nil
	}
	n, ok := m.Numbers[strings.TrimPrefix(at.Setting, routePrefix)]
	if !ok || n == 0 && at.Setting != routePrefix+"quickack" {
		return routeUnset, nil
	}
	if at.Setting == routeMTU && m.MTULock {
		return "lock " + strconv.FormatUint(uint64(n), 10), nil
	}
	return strconv.FormatUint(uint64(n), 10), nil
}

func (r Route) Write(_ context.Context, at Place, value string) error {
	value, err := r.Canonical(at, value)
	if err != nil {
		return err
	}
	key, err := routeKey(at)
	if err != nil {
		return err
	}
	m, err := r.Routes.Get(key)
	if err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	if err := r.Routes.Set(key, routeWith(m, at, value)); err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	return nil
}

// routeWith is m with one attribute changed to a canonical value.
func routeWith(m kernel.RouteMetrics, at Place, value string) kernel.RouteMetrics {
	name := strings.TrimPrefix(at.Setting, routePrefix)
	if m.Numbers = maps.Clone(m.Numbers); m.Numbers == nil {
		m.Numbers = map[string]uint32{}
	}
	number, locked := strings.CutPrefix(value, "lock ")
	if name == "mtu" {
		m.MTULock = locked
	}
	switch n, err := strconv.ParseUint(number, 10, 32); {
	case name == "congctl" && value == routeUnset:
		m.CongCtl = ""
	case name == "congctl":
		m.CongCtl = value
	case err != nil: // unset
		delete(m.Numbers, name)
	default:
		m.Numbers[name] = uint32(n)
	}
	return m
}

// Shell implements Setter. ip accepts only a whole route: the script takes the line that ip
// prints, removes or adds the one attribute, and passes the line back.
func (r Route) Shell(at Place, _ string) (Shell, error) {
	key, err := routeKey(at)
	if err != nil {
		return Shell{}, err
	}
	name := strings.TrimPrefix(at.Setting, routePrefix)
	ip := "ip " + map[bool]string{true: "-4", false: "-6"}[key.Dst.Addr().Is4()]
	// The destination and the metric are filtered here, since ip omits from a line what it was
	// asked to select by.
	line := "now=$(" + ip + " -o -N route show table main exact " + Quote(key.Dst.String()) + ` | awk -v metric=` + strconv.FormatUint(uint64(key.Metric), 10) +
		" " + Quote(`{ have = 0; for (i = 1; i < NF; i++) if ($i == "metric") have = $(i + 1); if (have == metric) { n++; line = $0 } } END { if (n != 1) exit 1; gsub(/\\/, " ", line); print line }`) + ")"
	value := Quote(`{ for (i = 2; i <= NF; i++) if ($i == name) { if ($(i + 1) == "lock") print "lock " $(i + 2); else print $(i + 1); exit } print "unset" }`)
	rest := Quote(`{ for (i = 2; i <= NF; i++) { if ($i == name) { i++; if ($i == "lock") i++; continue } if ($i == "dead" || $i == "linkdown") continue; printf "%s ", $i } }`)
	return Shell{
		Read: line + ` && printf '%s\n' "$now" | awk -v name=` + name + " " + value,
		Write: line + ` && rest=$(printf '%s\n' "$now" | awk -v name=` + name + " " + rest + `) && ` +
			`{ if [ "$value" = unset ]; then set -- $rest; else set -- ` + name + ` $value $rest; fi; } && ` + ip + ` route replace "${now%% *}" "$@"`,
		Programs: []string{"ip", "awk"},
	}, nil
}
