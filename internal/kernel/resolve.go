package kernel

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// Resolve finds the addresses of a host name with the system's resolver; an
// address is its own answer and asks nobody. IPv4-mapped ones come as IPv4.
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
