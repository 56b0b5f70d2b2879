package kernel

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PacketPort reads and writes whole frames of one interface, super-packets included, each
// preceded by a VnetHeader. Frames come through a ring shared with the kernel (packet(7),
// TPACKET_V2), so that neither the socket buffer limit of an unprivileged user nor a late reader
// loses any. One goroutine may read while another sends.
type PacketPort struct {
	fd    int
	ring  []byte
	slots int
	next  int
	drops uint64
}

// A frame slot holds the largest super-packet (64 KiB) with its headers. 15 slots fill 255 pages,
// which wastes little of a power-of-two allocation.
const (
	slotSize      = 17 * 4096
	slotsPerBlock = 15
	blockSize     = slotSize * slotsPerBlock
)

// OpenPacketPort opens an interface of the caller's network namespace, with a ring of blocks of 1
// MiB and 15 frames each. It needs CAP_NET_RAW there.
func OpenPacketPort(name string, blocks int) (*PacketPort, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("open packet port %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open packet port %s: %w", name, err)
	}
	p := &PacketPort{fd: fd, slots: slotsPerBlock * blocks}
	if err := p.setUp(ifi.Index, blocks); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("open packet port %s: %w", name, err)
	}
	return p, nil
}

func (p *PacketPort) setUp(ifindex, blocks int) error {
	for _, o := range []struct {
		name string
		opt  int
		val  int
	}{
		{"PACKET_VERSION", unix.PACKET_VERSION, unix.TPACKET_V2},
		{"PACKET_VNET_HDR", unix.PACKET_VNET_HDR, 1},
		{"PACKET_IGNORE_OUTGOING", unix.PACKET_IGNORE_OUTGOING, 1},
		{"PACKET_QDISC_BYPASS", unix.PACKET_QDISC_BYPASS, 1},
	} {
		if err := unix.SetsockoptInt(p.fd, unix.SOL_PACKET, o.opt, o.val); err != nil {
			return fmt.Errorf("set %s: %w", o.name, err)
		}
	}
	req := unix.TpacketReq{Block_size: blockSize, Block_nr: uint32(blocks), Frame_size: slotSize, Frame_nr: uint32(p.slots)}
	if err := unix.SetsockoptTpacketReq(p.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("set PACKET_RX_RING: %w", err)
	}
	ring, err := unix.Mmap(p.fd, 0, blockSize*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map ring: %w", err)
	}
	p.ring = ring
	all := uint16(unix.ETH_P_ALL)
	addr := &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: ifindex}
	if err := unix.Bind(p.fd, addr); err != nil {
		return errors.Join(fmt.Errorf("bind: %w", err), unix.Munmap(ring))
	}
	return nil
}

func (p *PacketPort) slot() (*unix.Tpacket2Hdr, []byte) {
	b := p.ring[p.next*slotSize : (p.next+1)*slotSize]
	return (*unix.Tpacket2Hdr)(unsafe.Pointer(&b[0])), b
}

// Next returns the oldest unread frame with its VnetHeader, or nil, and the wall-clock time at
// which the kernel received it. The bytes are valid until Release.
func (p *PacketPort) Next() (frame []byte, arrived time.Time) {
	h, b := p.slot()
	if atomic.LoadUint32(&h.Status)&unix.TP_STATUS_USER == 0 {
		return nil, time.Time{}
	}
	arrived = time.Unix(int64(h.Sec), int64(h.Nsec))
	start := int(h.Mac) - VnetHeaderLen
	end := int(h.Mac) + int(h.Snaplen)
	if start < 0 || end > len(b) {
		return []byte{}, arrived // should not happen; an empty frame is counted as malformed
	}
	return b[start:end], arrived
}

// Release returns the frame of Next to the kernel.
func (p *PacketPort) Release() {
	h, _ := p.slot()
	atomic.StoreUint32(&h.Status, unix.TP_STATUS_KERNEL)
	p.next = (p.next + 1) % p.slots
}

// PacketPoller waits for frames on several ports.
type PacketPoller struct{ fds []unix.PollFd }

// NewPacketPoller waits for these ports.
func NewPacketPoller(ports ...*PacketPort) *PacketPoller {
	w := &PacketPoller{}
	for _, p := range ports {
		w.fds = append(w.fds, unix.PollFd{Fd: int32(p.fd), Events: unix.POLLIN})
	}
	return w
}

// Wait returns when there may be a frame to read, if frames is set, or after timeout. The calling
// goroutine keeps its processor meanwhile, since handing it over and back costs more than a
// frame. So timeout bounds how long the process's garbage collector may be delayed, and
// GOMAXPROCS must leave room for other goroutines.
func (w *PacketPoller) Wait(timeout time.Duration, frames bool) error {
	ts := unix.NsecToTimespec(int64(max(timeout, 0)))
	n := uintptr(0)
	if frames {
		n = uintptr(len(w.fds))
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&w.fds[0])), n, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return fmt.Errorf("wait for frames: %w", errno)
	}
	return nil
}

// Send transmits a frame that starts with its VnetHeader; it does not block. ok is false when the
// interface cannot take it now.
func (p *PacketPort) Send(frame []byte) (ok bool, err error) {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(p.fd), uintptr(unsafe.Pointer(&frame[0])), uintptr(len(frame)))
		switch errno {
		case 0:
			return true, nil
		case unix.EINTR:
		case unix.EAGAIN, unix.ENOBUFS, unix.ENETDOWN:
			return false, nil
		default:
			return false, fmt.Errorf("send frame of %d bytes: %w", len(frame), errno)
		}
	}
}

// Drops is how many frames the kernel could not put into the ring since the port was opened.
func (p *PacketPort) Drops() (uint64, error) {
	// Reading resets the kernel's count.
	st, err := unix.GetsockoptTpacketStats(p.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0, fmt.Errorf("read packet statistics: %w", err)
	}
	return atomic.AddUint64(&p.drops, uint64(st.Drops)), nil
}

// Close closes the port. No other method may run at the same time.
func (p *PacketPort) Close() error {
	return errors.Join(unix.Munmap(p.ring), unix.Close(p.fd))
}
