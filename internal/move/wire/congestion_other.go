//go:build !linux

package wire

import "errors"

func (c Congestion) setFD(int) error { return c.try() }

func (Congestion) try() error {
	return errors.New("set on Linux only")
}
