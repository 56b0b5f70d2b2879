package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// TCPFilter selects TCP connections whose remote address is one of Addrs and whose local or
// remote port is one of Ports. An empty list restricts nothing; addresses are compared without
// zone, and IPv4-mapped ones as IPv4.
type TCPFilter struct {
	Addrs []netip.Addr
	Ports []uint16
}

// Match tells whether the filter selects the connection between two ends.
func (f TCPFilter) Match(local, remote netip.AddrPort) bool {
	if len(f.Addrs) > 0 && !slices.ContainsFunc(f.Addrs, func(a netip.Addr) bool { return plain(a) == plain(remote.Addr()) }) {
		return false
	}
	return len(f.Ports) == 0 || slices.Contains(f.Ports, remote.Port()) || slices.Contains(f.Ports, local.Port())
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// The layout of struct inet_diag_msg and its attributes, from include/uapi/linux/inet_diag.h.
const (
	diagMsgLen  = 72
	attrInfo    = 2
	attrCong    = 4
	attrSkmem   = 7
	familyInet  = 2
	familyInet6 = 10
)

// ParseSockDiag decodes the payload of one SOCK_DIAG_BY_FAMILY message: struct inet_diag_msg
// followed by attributes. A message without INET_DIAG_INFO (a time-wait socket) gives a Conn
// whose InfoLen is 0. A malformed message is an error; unknown attributes are skipped.
func ParseSockDiag(b []byte) (model.Conn, error) {
	c, err := diagEnds(b)
	if err != nil {
		return model.Conn{}, err
	}
	c.State = b[1]
	c.RecvQ = int64(u32(b, 56))
	c.SendQ = int64(u32(b, 60))
	c.Inode = u32(b, 68)
	err = eachAttr(b[diagMsgLen:], func(kind uint16, v []byte) {
		switch kind {
		case attrInfo:
			parseTCPInfo(v, &c)
		case attrCong:
			c.CC = cString(v)
		case attrSkmem:
			parseSkmem(v, &c)
		}
	})
	if err != nil {
		return model.Conn{}, fmt.Errorf("parse sock_diag attributes: %w", err)
	}
	if c.InfoLen > 0 && c.InfoLen < notSentEnd {
		c.NotSent = max(0, c.SendQ-int64(c.Unacked)*int64(c.SndMSS))
	}
	return c, nil
}

// notSentEnd is where notsent_bytes ends in struct tcp_info (since Linux 4.6). An older kernel
// tells what is written and not acknowledged, and how many segments of it are in flight.
const notSentEnd = 148

// diagEnds decodes only what a filter needs.
func diagEnds(b []byte) (model.Conn, error) {
	if len(b) < diagMsgLen {
		return model.Conn{}, fmt.Errorf("parse sock_diag message: %d bytes, want at least %d", len(b), diagMsgLen)
	}
	local, ok := diagAddr(b[0], b[8:24])
	remote, ok2 := diagAddr(b[0], b[24:40])
	if !ok || !ok2 {
		return model.Conn{}, fmt.Errorf("parse sock_diag message: address family %d is neither IPv4 nor IPv6", b[0])
	}
	return model.Conn{
		Local:  netip.AddrPortFrom(local, binary.BigEndian.Uint16(b[4:])),
		Remote: netip.AddrPortFrom(remote, binary.BigEndian.Uint16(b[6:])),
	}, nil
}

func diagAddr(family uint8, b []byte) (netip.Addr, bool) {
	switch family {
	case familyInet:
		return netip.AddrFrom4([4]byte(b[:4])), true
	case familyInet6:
		return netip.AddrFrom16([16]byte(b[:16])).Unmap(), true
	}
	return netip.Addr{}, false
}

// eachAttr walks netlink attributes: length u16, type u16, value, padded to 4.
func eachAttr(b []byte, f func(kind uint16, v []byte)) error {
	for len(b) >= 4 {
		n := int(binary.NativeEndian.Uint16(b))
		if n < 4 || n > len(b) {
			return fmt.Errorf("attribute of %d bytes in %d", n, len(b))
		}
		const kindMask = 0x3fff // without the nested and byte order flags
		f(binary.NativeEndian.Uint16(b[2:])&kindMask, b[4:n])
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// parseTCPInfo reads struct tcp_info (include/uapi/linux/tcp.h, as of 6.18) by offset. The struct
// only ever grows: fields past the end of b stay zero, and InfoLen shows how many there are.
func parseTCPInfo(b []byte, c *model.Conn) {
	c.InfoLen = len(b)
	c.CAState, c.Backoff, c.Options = u8(b, 1), u8(b, 4), u8(b, 5)
	c.SndWScale, c.RcvWScale = nibbles(u8(b, 6))
	c.AppLimited = firstBit(u8(b, 7))

	c.RTO = usec(u32(b, 8))
	c.SndMSS, c.RcvMSS = int(u32(b, 16)), int(u32(b, 20))
	c.Unacked, c.Sacked, c.Lost, c.Retrans = int(u32(b, 24)), int(u32(b, 28)), int(u32(b, 32)), int(u32(b, 36))
	c.PMTU = int(u32(b, 60))
	c.RcvSsthresh = int(u32(b, 64))
	c.RTT, c.RTTVar = usec(u32(b, 68)), usec(u32(b, 72))
	c.Ssthresh, c.Cwnd = int(u32(b, 76)), int(u32(b, 80))
	c.AdvMSS, c.Reordering = int(u32(b, 84)), int(u32(b, 88))
	c.RcvRTT, c.RcvSpace = usec(u32(b, 92)), int(u32(b, 96))
	c.TotalRetrans = int(u32(b, 100))
	parseTCPInfoRates(b, c)
}

// parseTCPInfoRates reads what was added to struct tcp_info since Linux 3.15.
func parseTCPInfoRates(b []byte, c *model.Conn) {
	c.PacingRate, c.MaxPacing = pacing(u64(b, 104)), pacing(u64(b, 112))
	c.BytesAcked, c.BytesReceived = i64(b, 120), i64(b, 128)
	c.SegsOut, c.SegsIn = int64(u32(b, 136)), int64(u32(b, 140))
	c.NotSent = int64(u32(b, 144))
	c.MinRTT = usec(u32(b, 148))
	c.DataSegsIn, c.DataSegsOut = int64(u32(b, 152)), int64(u32(b, 156))
	c.DeliveryRate = unit.BitRate(u64(b, 160)) * 8
	c.Busy, c.RwndLimited, c.SndbufLimited = usec64(b, 168), usec64(b, 176), usec64(b, 184)
	c.Delivered = int64(u32(b, 192))
	c.BytesSent, c.BytesRetrans = i64(b, 200), i64(b, 208)
	c.DSACKDups, c.ReordSeen = int(u32(b, 216)), int(u32(b, 220))
	c.RcvOOO = int64(u32(b, 224))
	c.SndWnd, c.RcvWnd = int64(u32(b, 228)), int64(u32(b, 232))
	c.TotalRTO = int(u16(b, 240))
}

// parseSkmem reads the SK_MEMINFO_* array of include/uapi/linux/sock_diag.h.
func parseSkmem(b []byte, c *model.Conn) {
	c.RmemAlloc, c.RcvBuf = int64(u32(b, 0)), int64(u32(b, 4))
	c.SndBuf, c.WmemQueued = int64(u32(b, 12)), int64(u32(b, 20))
	c.SockDrops = int64(u32(b, 32))
}

// pacing converts bytes per second to bits; ~0 means unlimited, as does the 32-bit ~0 of kernels
// before 4.20.
func pacing(v uint64) unit.BitRate {
	if v == 1<<64-1 || v == 1<<32-1 {
		return -1
	}
	return unit.BitRate(v) * 8
}

// usec reads a time in µs. With ~0 the kernel says that it has no minimum RTT yet.
func usec(v uint32) time.Duration {
	if v == 1<<32-1 {
		return 0
	}
	return time.Duration(v) * time.Microsecond
}

func usec64(b []byte, at int) time.Duration {
	v := u64(b, at)
	if v > uint64(1<<63-1)/uint64(time.Microsecond) {
		return 0
	}
	return time.Duration(v) * time.Microsecond
}

// nibbles splits a byte of two 4-bit fields, first declared first: C puts the first into the low
// bits on little-endian machines, into the high bits on others.
func nibbles(v uint8) (first, second uint8) {
	if littleEndian() {
		return v & 0xf, v >> 4
	}
	return v >> 4, v & 0xf
}

func firstBit(v uint8) bool {
	if littleEndian() {
		return v&1 != 0
	}
	return v&0x80 != 0
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

func u8(b []byte, at int) uint8 {
	if at >= len(b) {
		return 0
	}
	return b[at]
}

func u16(b []byte, at int) uint16 {
	if at+2 > len(b) {
		return 0
	}
	return binary.NativeEndian.Uint16(b[at:])
}

func u32(b []byte, at int) uint32 {
	if at+4 > len(b) {
		return 0
	}
	return binary.NativeEndian.Uint32(b[at:])
}

func u64(b []byte, at int) uint64 {
	if at+8 > len(b) {
		return 0
	}
	return binary.NativeEndian.Uint64(b[at:])
}

// i64 reads a counter; 0 if a damaged dump exceeds the int64 range.
func i64(b []byte, at int) int64 { return max(0, int64(u64(b, at))) }

func cString(b []byte) string {
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

const (
	nlHeaderLen = 16
	nlError     = 2 // NLMSG_ERROR
	nlDone      = 3 // NLMSG_DONE
)

// ParseSockDiagDump decodes one datagram of a sock_diag dump and keeps the connections that f
// selects and that have tcp_info. done tells that the dump is complete. A refusal by the kernel
// is returned as its syscall.Errno.
func ParseSockDiagDump(b []byte, f TCPFilter) (conns []model.Conn, done bool, err error) {
	for len(b) >= nlHeaderLen {
		n := int(binary.NativeEndian.Uint32(b))
		if n < nlHeaderLen || n > len(b) {
			return nil, false, fmt.Errorf("parse netlink message: %d bytes announced, %d there", n, len(b))
		}
		payload := b[nlHeaderLen:n]
		switch binary.NativeEndian.Uint16(b[4:]) {
		case nlDone:
			return conns, true, nil
		case nlError:
			return nil, true, nlErrno(payload)
		default:
			c, keep, err := diagWanted(payload, f)
			if err != nil {
				return nil, false, err
			}
			if keep {
				conns = append(conns, c)
			}
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return conns, false, nil
}

func diagWanted(payload []byte, f TCPFilter) (model.Conn, bool, error) {
	ends, err := diagEnds(payload)
	if err != nil || !f.Match(ends.Local, ends.Remote) {
		return model.Conn{}, false, err
	}
	c, err := ParseSockDiag(payload)
	return c, err == nil && c.InfoLen > 0, err
}

func nlErrno(payload []byte) error {
	code := int32(u32(payload, 0))
	if code >= 0 {
		return fmt.Errorf("parse netlink error: code %d", code)
	}
	return syscall.Errno(-code)
}
