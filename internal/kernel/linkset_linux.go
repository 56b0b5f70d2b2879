package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ReadLink returns what can be set on an interface of the calling thread's network namespace.
func ReadLink(ifname string) (LinkState, error) {
	link, err := netlink.LinkByName(ifname)
	if err != nil {
		return LinkState{}, fmt.Errorf("read interface %s: %w", ifname, err)
	}
	a := link.Attrs()
	s := LinkState{MTU: a.MTU, TxQueueLen: max(0, a.TxQLen)}
	if s.MinMTU, s.MaxMTU, err = mtuBounds(a.Index); err != nil {
		return s, fmt.Errorf("read MTU bounds of %s: %w", ifname, err)
	}
	addrs, err := netlink.AddrList(link, netlink.FAMILY_V6)
	if err != nil {
		return s, fmt.Errorf("list IPv6 addresses of %s: %w", ifname, err)
	}
	// The kernel shows the list of addresses where it has IPv6, which no interface of ours may have.
	_, err = os.Stat("/proc/thread-self/net/if_inet6")
	if s.IPv6 = len(addrs) > 0 || err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("look whether %s has IPv6: %w", ifname, err)
	}
	all, err := netlink.LinkList()
	if err != nil {
		return s, fmt.Errorf("list interfaces above %s: %w", ifname, err)
	}
	for _, l := range all {
		// A veth's parent index is its peer's, not that of a lower interface.
		if at := l.Attrs(); at.ParentIndex == a.Index && l.Type() != "veth" && at.NetNsID < 0 {
			s.Above = append(s.Above, LinkAbove{at.Name, at.MTU})
		}
	}
	return s, nil
}

// mtuBounds reads IFLA_MIN_MTU and IFLA_MAX_MTU (Linux 4.19), 0 if absent.
func mtuBounds(index int) (low, high int, err error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index = int32(index)
	req.AddData(msg)
	msgs, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return 0, 0, err
	}
	for _, m := range msgs {
		if len(m) < unix.SizeofIfInfomsg {
			return 0, 0, fmt.Errorf("interface message of %d bytes: %w", len(m), unix.EINVAL)
		}
		err = eachAttr(m[unix.SizeofIfInfomsg:], func(kind uint16, v []byte) {
			if len(v) < 4 {
				return
			}
			switch n := int(binary.NativeEndian.Uint32(v)); kind {
			case unix.IFLA_MIN_MTU:
				low = n
			case unix.IFLA_MAX_MTU:
				high = n
			}
		})
	}
	return low, high, err
}

// SetMTU sets the MTU of an interface, in bytes.
func SetMTU(ifname string, mtu int) error {
	return onLink(ifname, "set MTU", func(l netlink.Link) error { return netlink.LinkSetMTU(l, mtu) })
}

// SetTxQueueLen sets the transmit queue length of an interface, in packets.
func SetTxQueueLen(ifname string, packets int) error {
	return onLink(ifname, "set transmit queue length", func(l netlink.Link) error { return netlink.LinkSetTxQLen(l, packets) })
}

func onLink(ifname, what string, do func(netlink.Link) error) error {
	link, err := netlink.LinkByName(ifname)
	if err == nil {
		err = do(link)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", what, ifname, err)
	}
	return nil
}
