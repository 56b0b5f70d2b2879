//go:build unix && !linux

package load

import "golang.org/x/sys/unix"

// wasCut has nothing to add to the errors that all Unix systems share.
func wasCut(error) bool { return false }

func setSendBuffer(fd uintptr, n int) error { return setBuffer(fd, unix.SO_SNDBUF, n) }
func setRecvBuffer(fd uintptr, n int) error { return setBuffer(fd, unix.SO_RCVBUF, n) }

func setBuffer(fd uintptr, option, n int) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, option, n)
}
