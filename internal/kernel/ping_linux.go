package kernel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pingTries = 3
	pingWait  = time.Second // for one answer
)

// PingWhole sends packets of size octets, IP header included, with fragmentation forbidden and
// the known path MTU ignored (IP_PMTUDISC_PROBE, ip(7)), and waits for a reply to one of them. It
// needs root.
//
// Errors: ErrTooLarge if no reply came back, or the first hop refuses the size.
func PingWhole(ctx context.Context, to netip.Addr, size int) error {
	fd, addr, err := pingSocket(to)
	if err != nil {
		return fmt.Errorf("send a packet to %s that must not be fragmented: %w", to, err)
	}
	defer unix.Close(fd)
	id, header, request, answer := uint16(os.Getpid()), ipv4Header, byte(8), byte(0)
	if to.Is6() {
		header, request, answer = ipv6Header, 128, 129
	}
	for seq := range uint16(pingTries) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := unix.Sendto(fd, echoPacket(request, id, seq, size-header), 0, addr)
		if errors.Is(err, unix.EMSGSIZE) {
			return fmt.Errorf("send %d octets to %s: %w: the interface's own MTU is smaller", size, to, ErrTooLarge)
		}
		if err != nil {
			return fmt.Errorf("send %d octets to %s: %w", size, to, err)
		}
		if awaitEcho(fd, to.Is6(), answer, id, time.Now().Add(pingWait)) {
			return nil
		}
	}
	return fmt.Errorf("send %d octets to %s: %w: none of %d was answered", size, to, ErrTooLarge, pingTries)
}

func pingSocket(to netip.Addr) (int, unix.Sockaddr, error) {
	family, proto := unix.AF_INET, unix.IPPROTO_ICMP
	if to.Is6() {
		family, proto = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		return 0, nil, err
	}
	if to.Is6() {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
	} else {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	}
	tv := unix.NsecToTimeval(int64(pingWait / 4))
	err = errors.Join(err, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv))
	if err != nil {
		return 0, nil, errors.Join(err, unix.Close(fd))
	}
	if to.Is6() {
		return fd, &unix.SockaddrInet6{Addr: to.As16()}, nil
	}
	return fd, &unix.SockaddrInet4{Addr: to.As4()}, nil
}

// awaitEcho tells whether a reply to one of our requests came in time. A raw IPv4 socket also
// receives the IP header.
func awaitEcho(fd int, six bool, answer byte, id uint16, end time.Time) bool {
	b := make([]byte, 1<<16)
	for time.Now().Before(end) {
		n, _, err := unix.Recvfrom(fd, b, 0)
		if err != nil {
			continue // nothing has arrived yet, or a signal interrupted
		}
		p := b[:n]
		if !six && n > 0 {
			p = p[min(int(p[0]&0xf)*4, n):]
		}
		if len(p) >= echoHeader && p[0] == answer && uint16(p[4])<<8|uint16(p[5]) == id {
			return true
		}
	}
	return false
}
