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
	// All states that may still carry data or an acknowledgement: established, syn-sent,
	// fin-wait-1 and -2, close-wait, last-ack, closing. Listening, syn-received and time-wait
	// sockets carry none.
	diagStates = 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<11
	diagExts   = 1<<(attrInfo-1) | 1<<(attrCong-1) | 1<<(attrSkmem-1)
	diagWait   = 2 * time.Second
	diagBuf    = 64 << 10 // of a dump's datagrams
	diagOne    = 8 << 10  // a single connection takes a tenth of it
)

// TCPConns lists the TCP connections of the calling thread's network namespace that f selects,
// over IPv4 and IPv6, as inet_diag shows them. It needs no privilege. The kernel walks the
// connection table of all namespaces for it, which takes about a millisecond on a large machine.
func (Live) TCPConns(ctx context.Context, f TCPFilter) ([]model.Conn, error) {
	fd, err := openDiag()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var conns []model.Conn
	buf := make([]byte, diagBuf)
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := diagDump(fd, diagRequest(family, unix.NLM_F_DUMP), f, buf)
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

// TCPAgain looks up connections that were listed before, each in a few microseconds. Those that
// are gone are left out.
func (Live) TCPAgain(ctx context.Context, known []model.Conn) ([]model.Conn, error) {
	fd, err := openDiag()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	conns := make([]model.Conn, 0, len(known))
	buf := make([]byte, diagOne)
	for _, k := range known {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := diagDump(fd, diagExact(k), TCPFilter{}, buf)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up TCP connection by sock_diag: %w", err)
		}
		// If no connection has these ends, the kernel answers with a listener, if there is one.
		if len(got) == 1 && got[0].Local == k.Local && got[0].Remote == k.Remote && got[0].Inode == k.Inode {
			conns = append(conns, got[0])
		}
	}
	return conns, nil
}

func openDiag() (int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return -1, fmt.Errorf("open sock_diag: %w", err)
	}
	wait := unix.NsecToTimeval(int64(diagWait))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		_ = unix.Close(fd) // the first error is the one to tell
		return -1, fmt.Errorf("bound the wait for sock_diag: %w", err)
	}
	return fd, nil
}

// diagDump sends one request and collects the answers: up to NLMSG_DONE for a dump, else one
// message. buf is where they are received.
func diagDump(fd int, req []byte, f TCPFilter, buf []byte) ([]model.Conn, error) {
	dump := binary.NativeEndian.Uint16(req[6:])&unix.NLM_F_DUMP != 0
	if err := unix.Sendto(fd, req, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var conns []model.Conn
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
		if done || !dump {
			return conns, nil
		}
	}
}

func diagRequest(family uint8, flags uint16) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN+diagReqLen)
	ne := binary.NativeEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], sockDiagByFamily)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	ne.PutUint32(b[8:], 1) // sequence number: one request at a time on a socket of its own
	p := b[unix.NLMSG_HDRLEN:]
	p[0], p[1], p[2] = family, unix.IPPROTO_TCP, diagExts
	ne.PutUint32(p[4:], diagStates)
	return b
}

// diagExact requests one connection by its ends.
func diagExact(c model.Conn) []byte {
	family := uint8(unix.AF_INET6)
	if c.Remote.Addr().Is4() {
		family = unix.AF_INET // also for a socket of IPv6 that speaks IPv4
	}
	b := diagRequest(family, 0)
	id := b[unix.NLMSG_HDRLEN+8:]
	binary.BigEndian.PutUint16(id, c.Local.Port())
	binary.BigEndian.PutUint16(id[2:], c.Remote.Port())
	copy(id[4:20], c.Local.Addr().AsSlice())
	copy(id[20:36], c.Remote.Addr().AsSlice())
	binary.NativeEndian.PutUint64(id[40:], 1<<64-1) // INET_DIAG_NOCOOKIE
	return b
}
