package wire

import (
	"net"

	"golang.org/x/sys/unix"
)

// look reads what the kernel counts of a connection (tcp_info), and its congestion control.
func (s *Sockets) look(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	// A connection that is closed meanwhile tells nothing.
	_ = raw.Control(func(fd uintptr) {
		i, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return
		}
		cc, _ := unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION) // not told: empty
		s.add(one{busy: i.Busy_time, rwnd: i.Rwnd_limited, sndbuf: i.Sndbuf_limited, retrans: uint64(i.Total_retrans), sent: uint64(i.Data_segs_out), rtt: i.Min_rtt, cc: cc})
	})
}
