//go:build !linux

package kernel

import "time"

// PacketPort is unsupported on this system.
type PacketPort struct{}

// OpenPacketPort is unsupported on this system.
func OpenPacketPort(name string, _ int) (*PacketPort, error) {
	return nil, noLinks("open packet port " + name)
}

// Next returns nothing.
func (*PacketPort) Next() ([]byte, time.Time) { return nil, time.Time{} }

// Release does nothing.
func (*PacketPort) Release() {}

// PacketPoller is unsupported on this system.
type PacketPoller struct{}

// NewPacketPoller waits for nothing.
func NewPacketPoller(...*PacketPort) *PacketPoller { return &PacketPoller{} }

// Wait is unsupported on this system.
func (*PacketPoller) Wait(time.Duration, bool) error { return noLinks("wait for frames") }

// Send is unsupported on this system.
func (*PacketPort) Send([]byte) (bool, error) { return false, noLinks("send frame") }

// Drops is unsupported on this system.
func (*PacketPort) Drops() (uint64, error) { return 0, noLinks("read packet statistics") }

// Close does nothing.
func (*PacketPort) Close() error { return nil }
