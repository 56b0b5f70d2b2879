package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// SourceTo is the address from which this host would send to another one. It connects a socket
// of datagrams, by which every system chooses a route and an address, and sends nothing.
func SourceTo(to netip.Addr) (netip.Addr, error) {
	if !to.IsValid() {
		return netip.Addr{}, errors.New("find the address from which to send: to no address")
	}
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 9)))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the address from which to send to %s: %w", to, err)
	}
	local := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	if err := c.Close(); err != nil {
		return netip.Addr{}, fmt.Errorf("find the address from which to send to %s: %w", to, err)
	}
	return local, nil
}
