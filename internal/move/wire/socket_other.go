//go:build !linux

package wire

import (
	"errors"
	"net"
)

// look sees nothing: this system has no tcp_info that is read here.
func (s *Sockets) look(net.Conn) {}

// setCongestion: this system's is left as it is.
func setCongestion(net.Conn, string) error { return errors.ErrUnsupported }
