package probe

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// setOptions sets a socket to never fragment and to send up to its interface's MTU whatever was
// learned of the path (IP_PMTUDISC_PROBE, ip(7)), with a known hop limit, and to report ICMP
// errors and each datagram's interface, hop limit and time of arrival.
func setOptions(fd int, v4 bool) error {
	set := [][3]int{
		{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
		{unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1},
		{unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, hopLimit},
		{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1},
	}
	if v4 {
		set = [][3]int{
			{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
			{unix.IPPROTO_IP, unix.IP_RECVERR, 1},
			{unix.IPPROTO_IP, unix.IP_PKTINFO, 1},
			{unix.IPPROTO_IP, unix.IP_RECVTTL, 1},
			{unix.IPPROTO_IP, unix.IP_TTL, hopLimit},
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
	ttl   int
}

// setTTL sets the hop limit of what is sent next.
func setTTL(fd int, v4 bool, ttl int) error {
	if v4 {
		return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL, ttl)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, ttl)
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
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_TTL && len(m.Data) >= 4,
			m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_HOPLIMIT && len(m.Data) >= 4:
			out.ttl = int(u32(m.Data))
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
		return tooBig{local: m.Data[4] == unix.SO_EE_ORIGIN_LOCAL, mtu: int(mtu), by: offender(m)}, true
	}
	return t, false
}

// offender is who sent the ICMP message of an error: a struct sockaddr behind the
// sock_extended_err, by its level.
func offender(m unix.SocketControlMessage) netip.Addr {
	switch from := m.Data[16:]; {
	case m.Header.Level == unix.IPPROTO_IP && len(from) >= 8:
		return netip.AddrFrom4([4]byte(from[4:8]))
	case m.Header.Level == unix.IPPROTO_IPV6 && len(from) >= 24:
		return netip.AddrFrom16([16]byte(from[8:24])).Unmap()
	}
	return netip.Addr{}
}

// parseExpired reads from the control messages of the error queue at which router a datagram's
// hop limit expired (RFC 792 type 11, RFC 4443 type 3); ok is false for another error.
func parseExpired(oob []byte) (by netip.Addr, ok bool) {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return by, false
	}
	for _, m := range list {
		if len(m.Data) < 16 {
			continue
		}
		v4 := m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_RECVERR && m.Data[4] == unix.SO_EE_ORIGIN_ICMP && m.Data[5] == 11
		v6 := m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_RECVERR && m.Data[4] == unix.SO_EE_ORIGIN_ICMP6 && m.Data[5] == 3
		if v4 || v6 {
			return offender(m), true
		}
	}
	return by, false
}
