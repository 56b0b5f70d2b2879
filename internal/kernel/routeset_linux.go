package kernel

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ReadRoute reads the metrics of a route of the main table. A missing route is fs.ErrNotExist;
// several routes with one key are an error, since they could not be told apart.
func ReadRoute(key RouteKey) (RouteMetrics, error) {
	r, err := findRoute(key)
	return r.m, err
}

// SetRoute changes the metrics of a route and keeps all else: it sends the kernel's own message
// back with only Numbers, MTULock and CongCtl of m changed.
func SetRoute(key RouteKey, m RouteMetrics) error {
	r, err := findRoute(key)
	if err != nil {
		return err
	}
	if r.passing {
		return fmt.Errorf("change route %s: a router advertised it for some time only, and a change would make it stay: %w", key, unix.EOPNOTSUPP)
	}
	m.rest = r.m.rest
	req := nl.NewNetlinkRequest(unix.RTM_NEWROUTE, unix.NLM_F_REPLACE|unix.NLM_F_ACK)
	req.AddRawData(r.with(m))
	if _, err := req.Execute(unix.NETLINK_ROUTE, 0); err != nil {
		return fmt.Errorf("change route %s: %w", key, err)
	}
	return nil
}

func findRoute(key RouteKey) (routeMsg, error) {
	family := byte(unix.AF_INET)
	if key.Dst.Addr().Is6() {
		family = unix.AF_INET6
	}
	req := nl.NewNetlinkRequest(unix.RTM_GETROUTE, unix.NLM_F_DUMP)
	head := make([]byte, rtmsgLen)
	head[0] = family
	req.AddRawData(head)
	msgs, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return routeMsg{}, fmt.Errorf("list routes by rtnetlink: %w", err)
	}
	var found []routeMsg
	for _, b := range msgs {
		r, err := parseRouteMsg(b)
		if err != nil {
			return r, err
		}
		if r.main && r.key == key {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return routeMsg{}, fmt.Errorf("find route %s in the main table: %w", key, fs.ErrNotExist)
	case 1:
		return found[0], nil
	}
	return routeMsg{}, fmt.Errorf("find route %s in the main table: %d have that destination and metric and cannot be told apart", key, len(found))
}
