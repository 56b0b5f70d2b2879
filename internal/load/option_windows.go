package load

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// wasCut tells a reset of the peer and one of this host, by their numbers here, from other errors.
func wasCut(err error) bool {
	return errors.Is(err, windows.WSAECONNRESET) || errors.Is(err, windows.WSAECONNABORTED)
}

func congestionOf(uintptr) string           { return "" }
func setCongestion(uintptr, string) error   { return lacking("the congestion control") }
func setPacing(uintptr, int) error          { return lacking("the pacing") }
func setSendBuffer(fd uintptr, n int) error { return setBuffer(fd, syscall.SO_SNDBUF, n) }
func setRecvBuffer(fd uintptr, n int) error { return setBuffer(fd, syscall.SO_RCVBUF, n) }

func setBuffer(fd uintptr, option, n int) error {
	return syscall.SetsockoptInt(syscall.Handle(fd), syscall.SOL_SOCKET, option, n)
}
