package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// useCubic sets the congestion control that the faults are sized for: a
// model-based one hides random loss.
func useCubic(_, _ string, c syscall.RawConn) error {
	var err error
	if cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	}); cerr != nil {
		return cerr
	}
	return err
}
