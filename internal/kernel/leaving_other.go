//go:build !linux

package kernel

import (
	"net/netip"

	"linerate/internal/model"
)

// LeavingTo is not available on this operating system yet.
func LeavingTo(netip.Addr, netip.Addr) (model.Leaving, error) {
	return model.Leaving{}, notHere("find a route")
}
