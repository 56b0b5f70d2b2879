package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"linerate/internal/model"
)

// LeavingTo asks the kernel for its route from one of its addresses to another host, policy
// routing included (rtnetlink(7), RTM_GETROUTE), and the neighbour table for the hardware address
// of the next hop. It sends no packet.
func LeavingTo(from, to netip.Addr) (model.Leaving, error) {
	routes, err := netlink.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{SrcAddr: from.AsSlice()})
	if err != nil {
		return model.Leaving{}, fmt.Errorf("find route from %s to %s: %w", from, to, err)
	}
	if len(routes) == 0 {
		return model.Leaving{}, fmt.Errorf("find route from %s to %s: the kernel names none", from, to)
	}
	r := routes[0]
	i, err := net.InterfaceByIndex(r.LinkIndex)
	if err != nil {
		return model.Leaving{}, fmt.Errorf("find route from %s to %s: %w", from, to, err)
	}
	out := model.Leaving{Interface: i.Name, MTU: i.MTU, Gateway: addrOf(r.Gw)}
	next := to
	if out.Gateway.IsValid() {
		next = out.Gateway
	}
	out.NextMAC, err = neighbour(i.Index, next)
	return out, err
}

// neighbour is the hardware address of an IP address in the neighbour table of one interface;
// empty if there is no confirmed entry.
func neighbour(index int, addr netip.Addr) (string, error) {
	family := netlink.FAMILY_V4
	if addr.Is6() {
		family = netlink.FAMILY_V6
	}
	list, err := netlink.NeighList(index, family)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return "", fmt.Errorf("list neighbours: %w", err)
	}
	for _, n := range list {
		if n.State&(unix.NUD_FAILED|unix.NUD_INCOMPLETE|unix.NUD_NOARP) == 0 && n.IP.Equal(addr.AsSlice()) && len(n.HardwareAddr) > 0 {
			return n.HardwareAddr.String(), nil
		}
	}
	return "", nil
}
