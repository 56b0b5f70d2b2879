//go:build !linux

package lab

import (
	"context"
	"errors"
	"net"
	"os"
)

var errLinuxOnly = errors.New("run in a lab host: labs are for Linux only")

func receiveExec(net.Conn) (execArgs, []*os.File, error) { return execArgs{}, nil, errLinuxOnly }

// Exec is unsupported on this system.
func (c *Client) Exec(context.Context, string, []string, *os.File, *os.File, *os.File, <-chan os.Signal) (int, error) {
	return 1, errLinuxOnly
}
