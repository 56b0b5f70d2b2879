//go:build !linux

package wire

import "net"

// lowWater does nothing: readers of this system are woken for every byte.
type lowWater struct{}

func lowWaterOf(net.Conn) lowWater { return lowWater{} }

func (lowWater) read(c net.Conn, p []byte, _ int) (int, error) { return c.Read(p) }
