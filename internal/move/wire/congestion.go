package wire

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// Congestion is the name of a congestion control of TCP, as "bbr"; "": the one that the host
// gives its connections anyway.
type Congestion string

// maxCongestion is the longest name that a kernel takes (TCP_CA_NAME_MAX, with its zero byte).
const maxCongestion = 15

// IsName tells whether a kernel could have a congestion control of this name.
func (c Congestion) IsName() bool {
	return c != "" && len(c) <= maxCongestion && strings.Trim(string(c), "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// What a host says of its congestion controls.
const (
	availableFile = "/proc/sys/net/ipv4/tcp_available_congestion_control"
	allowedFile   = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"
)

// Check says why connections of this process cannot have the congestion control. One that is not
// loaded is refused before the kernel is asked for it: asked by root, it would load a module.
func (c Congestion) Check(src kernel.Files) error {
	if c == "" {
		return nil
	}
	have, err := src.ReadFile(availableFile)
	if err != nil {
		return fmt.Errorf("read which congestion controls this host has: %w", err)
	}
	if !slices.Contains(strings.Fields(string(have)), string(c)) {
		return fmt.Errorf("congestion control %s: this host has %s; name one of them, or load it first (modprobe tcp_%s)", c, strings.Join(strings.Fields(string(have)), ", "), c)
	}
	if err := c.try(); err != nil {
		may, _ := src.ReadFile(allowedFile) // else the error alone has to do
		return fmt.Errorf("congestion control %s: %w; without root this host allows %s (net.ipv4.tcp_allowed_congestion_control)", c, err, strings.Join(strings.Fields(string(may)), ", "))
	}
	return nil
}

// set gives it to a connection, which it has from then on: also where a route names another.
func (c Congestion) set(conn net.Conn) error {
	t, ok := conn.(*net.TCPConn)
	if c == "" || !ok {
		return nil // no connection of TCP has been seen here, but in tests
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return fmt.Errorf("set congestion control %s: %w", c, err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = c.setFD(int(fd)) }); err != nil {
		failed = err
	}
	if failed != nil {
		return fmt.Errorf("set congestion control %s: %w", c, failed)
	}
	return nil
}
