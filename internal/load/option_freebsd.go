package load

import "golang.org/x/sys/unix"

// congestionOf asks for the congestion control of a socket (tcp(4), TCP_CONGESTION).
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

// setPacing asks for a rate in bytes per second (setsockopt(2), SO_MAX_PACING_RATE), which needs a
// card and a kernel that pace (TCP_RATELIMIT).
func setPacing(fd uintptr, rate int) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, rate)
}
