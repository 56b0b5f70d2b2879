package probe

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// setOptions sets a socket to never fragment and to send up to its interface's MTU whatever was
// learned of the path (IP_PMTUDISC_PROBE, ip(7)), and to report ICMP errors and each datagram's
// interface and time of arrival.
func setOptions(fd int, v4 bool) error {
	set := [][3]int{
		{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
		{unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
	}
	if v4 {
		set = [][3]int{
			{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
			{unix.IPPROTO_IP, unix.IP_RECVERR, 1},
			{unix.IPPROTO_IP, unix.IP_PKTINFO, 1},
			{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
		}
	}
	for _, o := range set {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			return err
		}
	}
	return nil
}

// arrival is what the kernel reports besides a datagram.
type arrival struct {
	at    time.Time
	index int // of the interface
}

// parseArrival reads the control messages of a datagram (cmsg(3), ip(7),
// ipv6(7), socket(7)); what is missing stays zero.
func parseArrival(oob []byte) arrival {
	var out arrival
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return out
	}
	u32 := binary.NativeEndian.Uint32
	for _, m := range list {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 12:
			out.index = int(u32(m.Data))
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 20:
			out.index = int(u32(m.Data[16:]))
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) == 16:
			out.at = time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) == 8:
			out.at = time.Unix(int64(int32(u32(m.Data))), int64(int32(u32(m.Data[4:]))))
		}
	}
	return out
}

// tooBig is an error about a datagram's size.
type tooBig struct {
	local bool // this host's own interface refused it
	mtu   int
	by    netip.Addr // who sent the ICMP message
}

// parseTooBig reads the control messages of the error queue (struct sock_extended_err,
// include/uapi/linux/errqueue.h); ok is false for an error of another kind.
func parseTooBig(oob []byte) (t tooBig, ok bool) {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return t, false
	}
	for _, m := range list {
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR
		if !v4 && !v6 || len(m.Data) < 16 || binary.NativeEndian.Uint32(m.Data) != uint32(unix.EMSGSIZE) {
			continue
		}
		mtu := binary.NativeEndian.Uint32(m.Data[8:])
		if mtu > 1<<16 {
			continue
		}
		t = tooBig{local: m.Data[4] == unix.SO_EE_ORIGIN_LOCAL, mtu: int(mtu)}
		from := m.Data[16:]
		switch {
		case v4 && len(from) >= 8:
			t.by = netip.AddrFrom4([4]byte(from[4:8]))
		case v6 && len(from) >= 24:
			t.by = netip.AddrFrom16([16]byte(from[8:24])).Unmap()
		}
		return t, true
	}
	return t, false
}
