//go:build !linux

package wire

import "net"

// look sees nothing: this system has no tcp_info that is read here.
func (s *Sockets) look(net.Conn) {}
