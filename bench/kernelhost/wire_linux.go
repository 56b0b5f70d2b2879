package main

import (
	"fmt"
	"io"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// joinTaps makes taps and a bridge between them in the bench's own network
// namespace: the cable between the two kernels.
func joinTaps(taps ...string) error {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "cable"}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("make bridge: %w", err)
	}
	for _, name := range taps {
		tap := &netlink.Tuntap{
			LinkAttrs: netlink.LinkAttrs{Name: name},
			Mode:      netlink.TUNTAP_MODE_TAP,
			Flags:     unix.IFF_VNET_HDR | netlink.TUNTAP_NO_PI,
		}
		if err := netlink.LinkAdd(tap); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetMaster(link, bridge)
		}
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("plug in %s: %w", name, err)
		}
	}
	return netlink.LinkSetUp(bridge)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return out.Close()
}
