package kernel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/model"
)

const (
	sockDiagByFamily = 20 // SOCK_DIAG_BY_FAMILY
	diagReqLen       = 56 // struct inet_diag_req_v2
	// Every state that may still carry data or an answer: established,
	// syn-sent, fin-wait-1 and -2, close-wait, last-ack, closing. Listening,
	// syn-received and time-wait sockets have no connection to judge.
	diagStates = 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<11
	diagExts   = 1<<(attrInfo-1) | 1<<(attrCong-1) | 1<<(attrSkmem-1)
	diagWait   = 2 * time.Second
	diagBuf    = 64 << 10
)

// TCPConns lists the TCP connections of the calling thread's network namespace
// that f wants, over IPv4 and IPv6, as inet_diag shows them. It needs no
// privilege.
func (Live) TCPConns(ctx context.Context, f TCPFilter) ([]model.Conn, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("open sock_diag: %w", err)
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(diagWait))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return nil, fmt.Errorf("bound the wait for sock_diag: %w", err)
	}
	var conns []model.Conn
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := diagDump(fd, family, f)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) {
			continue // a kernel without this address family
		}
		if err != nil {
			return nil, fmt.Errorf("list TCP connections by sock_diag: %w", err)
		}
		conns = append(conns, got...)
	}
	return conns, nil
}

func diagDump(fd int, family uint8, f TCPFilter) ([]model.Conn, error) {
	req := diagRequest(family)
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var conns []model.Conn
	buf := make([]byte, diagBuf)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		got, done, err := ParseSockDiagDump(buf[:n], f)
		if err != nil {
			return nil, err
		}
		conns = append(conns, got...)
		if done {
			return conns, nil
		}
	}
}

func diagRequest(family uint8) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN+diagReqLen)
	ne := binary.NativeEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], sockDiagByFamily)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	ne.PutUint32(b[8:], 1) // sequence number: one request at a time on a socket of its own
	p := b[unix.NLMSG_HDRLEN:]
	p[0], p[1], p[2] = family, unix.IPPROTO_TCP, diagExts
	ne.PutUint32(p[4:], diagStates)
	return b
}
