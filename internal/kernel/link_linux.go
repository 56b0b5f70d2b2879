package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// AddVeth creates the pair, both ends down.
func AddVeth(v Veth) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = v.Name, v.MTU, v.MAC
	link := netlink.NewVeth(attrs)
	link.PeerName, link.PeerHardwareAddr = v.Peer, v.PeerMAC
	link.PeerMTU = uint32(v.MTU)
	link.PeerNamespace = netlink.NsPid(v.PeerPID)
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("make veth pair %s, %s: %w", v.Name, v.Peer, err)
	}
	return nil
}

// DeleteInterface removes an interface of the caller's network namespace and, of a veth, its
// peer. One that does not exist is no error.
func DeleteInterface(name string) error {
	link, err := netlink.LinkByName(name)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil {
		return fmt.Errorf("remove interface %s: %w", name, err)
	}
	return nil
}

// SetInterface brings an interface into the wanted state.
func SetInterface(want Interface) error {
	link, err := netlink.LinkByName(want.Name)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", want.Name, err)
	}
	if want.MTU > 0 {
		if err := netlink.LinkSetMTU(link, want.MTU); err != nil {
			return fmt.Errorf("set MTU of %s to %d: %w", want.Name, want.MTU, err)
		}
	}
	if want.Addr.IsValid() {
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: want.Addr.Addr().AsSlice(), Mask: net.CIDRMask(want.Addr.Bits(), want.Addr.Addr().BitLen())}}
		if err := netlink.AddrReplace(link, addr); err != nil {
			return fmt.Errorf("give %s address %s: %w", want.Name, want.Addr, err)
		}
	}
	if want.Up {
		if err := netlink.LinkSetUp(link); err != nil {
			return fmt.Errorf("bring %s up: %w", want.Name, err)
		}
	}
	return setNeighbours(link, want)
}

func setNeighbours(link netlink.Link, want Interface) error {
	for ip, mac := range want.Neighbours {
		n := &netlink.Neigh{LinkIndex: link.Attrs().Index, IP: ip.AsSlice(), HardwareAddr: mac, State: netlink.NUD_PERMANENT, Family: unix.AF_INET}
		if err := netlink.NeighSet(n); err != nil {
			return fmt.Errorf("set neighbour %s of %s: %w", ip, want.Name, err)
		}
	}
	return nil
}

// AddRoute adds a route to a network through a gateway; an invalid to is the default route.
func AddRoute(to netip.Prefix, via netip.Addr) error {
	r := &netlink.Route{Gw: via.AsSlice()}
	if to.IsValid() {
		r.Dst = &net.IPNet{IP: to.Masked().Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), to.Addr().BitLen())}
	}
	if err := netlink.RouteAdd(r); err != nil {
		return fmt.Errorf("add route to %s via %s: %w", to, via, err)
	}
	return nil
}

// SetTokenBucket sets a tbf on an interface. The error is ENOENT if the kernel has no tbf.
func SetTokenBucket(t TokenBucket) error {
	link, err := netlink.LinkByName(t.Dev)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", t.Dev, err)
	}
	if err := netlink.QdiscReplace(tbfRequest(link.Attrs().Index, t)); err != nil {
		return fmt.Errorf("shape %s to %s with tbf: %w", t.Dev, t.Rate, err)
	}
	return nil
}

func tbfRequest(index int, t TokenBucket) *netlink.Tbf {
	attrs := netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(2, 0), Parent: netlink.HANDLE_ROOT}
	if t.Parent != 0 {
		attrs.Parent = t.Parent
	}
	rate := uint64(t.Rate / 8)
	return &netlink.Tbf{
		QdiscAttrs: attrs,
		Rate:       rate,
		Limit:      uint32(t.Limit),
		// The kernel expects the burst as the time that it takes at this rate.
		Buffer: netlink.Xmittime(rate, uint32(t.Burst)),
	}
}

// SetNetem sets a netem on an interface. The error is ENOENT if the kernel has no netem.
func SetNetem(n Netem) error {
	link, err := netlink.LinkByName(n.Dev)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", n.Dev, err)
	}
	if err := netlink.QdiscReplace(netemRequest(link.Attrs().Index, n)); err != nil {
		return fmt.Errorf("put netem on %s: %w", n.Dev, err)
	}
	return nil
}

func netemRequest(index int, n Netem) *netlink.Netem {
	return netlink.NewNetem(
		netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		netlink.NetemQdiscAttrs{Latency: n.Delay, Loss: float32(n.Loss * 100), Limit: n.Limit},
	)
}

// AddBridge creates a bridge of interfaces and brings it up.
func AddBridge(name string, mtu int, ports ...string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = name, mtu
	br := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(br); err != nil {
		return fmt.Errorf("make bridge %s: %w", name, err)
	}
	for _, p := range ports {
		link, err := netlink.LinkByName(p)
		if err == nil {
			err = netlink.LinkSetMaster(link, br)
		}
		if err != nil {
			return fmt.Errorf("join %s to bridge %s: %w", p, name, err)
		}
	}
	if err := netlink.LinkSetUp(br); err != nil {
		return fmt.Errorf("bring %s up: %w", name, err)
	}
	return nil
}
