//go:build !linux

package kernel

import (
	"context"
	"errors"
	"net/netip"
)

// PingWhole is for Linux.
func PingWhole(context.Context, netip.Addr, int) error {
	return errors.New("send a packet that must not be fragmented: not on this system")
}
