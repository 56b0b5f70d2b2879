package load

import "golang.org/x/sys/unix"

// congestionOf asks for the congestion control of a socket (tcp(4P), TCP_CONGESTION).
func congestionOf(fd uintptr) string {
	cc, err := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	if err != nil {
		return ""
	}
	return cc
}

func setCongestion(fd uintptr, name string) error {
	return unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
}

func setPacing(uintptr, int) error { return lacking("the pacing") }
