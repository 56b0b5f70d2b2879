package kernel

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// Resolve looks a host name up with the system's resolver; an address needs no lookup.
// IPv4-mapped addresses come as IPv4.
func Resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolve %q: %w", host, err)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, nil
}
