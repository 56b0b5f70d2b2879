package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// HearLLDP listens on every interface but lo for this time, and returns the last frame of each
// switch port per interface. It sends nothing. It needs CAP_NET_RAW; without, the error is
// fs.ErrPermission.
func HearLLDP(ctx context.Context, wait time.Duration) ([]Heard, error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("hear LLDP: %w", err)
	}
	proto := htons(unix.ETH_P_LLDP)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(proto))
	if err != nil {
		return nil, fmt.Errorf("hear LLDP: %w", err)
	}
	defer unix.Close(fd)
	names := map[int]string{}
	for _, l := range links {
		if l.Flags&net.FlagLoopback != 0 || len(l.HardwareAddr) != 6 {
			continue
		}
		names[l.Index] = l.Name
		if err := joinLLDP(fd, l.Index); err != nil {
			return nil, fmt.Errorf("hear LLDP on %s: %w", l.Name, err)
		}
	}
	return collectLLDP(ctx, fd, names, time.Now().Add(wait))
}

// joinLLDP subscribes the card to the group addresses of LLDP (IEEE 802.1AB clause 7.1: nearest
// bridge, nearest non-TPMR bridge, nearest customer bridge).
func joinLLDP(fd, index int) error {
	for _, last := range []byte{0x0e, 0x03, 0x00} {
		m := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_MULTICAST, Alen: 6, Address: [8]byte{0x01, 0x80, 0xc2, 0, 0, last}}
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &m); err != nil && !errors.Is(err, unix.EADDRINUSE) {
			return err
		}
	}
	return nil
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

// collectLLDP reads until the time is over. Malformed frames are ignored.
func collectLLDP(ctx context.Context, fd int, names map[int]string, until time.Time) ([]Heard, error) {
	type key struct{ ifname, chassis, port string }
	var order []key
	last := map[key]LLDP{}
	buf := make([]byte, 2048)
	for {
		left := time.Until(until)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("hear LLDP: %w", err)
		}
		if left <= 0 || len(last) > 256 {
			break
		}
		step := min(left, 200*time.Millisecond) // so that the loop checks ctx
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(step.Milliseconds())+1); err != nil && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("hear LLDP: %w", err)
		}
		n, from, err := unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		at, ok := from.(*unix.SockaddrLinklayer)
		if err != nil || !ok || at.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		l, err := ParseLLDP(buf[:n])
		if err != nil || names[at.Ifindex] == "" {
			continue
		}
		k := key{names[at.Ifindex], l.Chassis, l.Port}
		if _, known := last[k]; !known {
			order = append(order, k)
		}
		last[k] = l
	}
	out := []Heard{}
	for _, k := range order {
		if last[k].Seconds > 0 {
			out = append(out, Heard{k.ifname, last[k]})
		}
	}
	return out, nil
}
