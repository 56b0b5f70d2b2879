package kernel

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// SocketPair returns the two ends of a connection between two processes: what one end writes
// the other end reads.
func SocketPair() (near, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make cable: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "cable"), os.NewFile(uintptr(fds[1]), "cable"), nil
}

// tapQueue is the number of packets that can wait for a guest that reads slowly; the emulated
// link bounds its own queue.
const tapQueue = 20000

// AddTap creates a tap interface for an emulated machine; it persists when no process has it
// open.
func AddTap(name string, mtu int) error {
	tap := &netlink.Tuntap{
		LinkAttrs: netlink.LinkAttrs{Name: name},
		Mode:      netlink.TUNTAP_MODE_TAP,
		Flags:     unix.IFF_VNET_HDR | netlink.TUNTAP_NO_PI,
	}
	if err := netlink.LinkAdd(tap); err != nil {
		return fmt.Errorf("make tap %s: %w", name, err)
	}
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetTxQLen(link, tapQueue)
	}
	if err == nil {
		err = netlink.LinkSetMTU(link, mtu)
	}
	if err != nil {
		return fmt.Errorf("set up tap %s: %w", name, err)
	}
	return nil
}

// RenameInterface renames an interface that is down.
func RenameInterface(from, to string) error {
	link, err := netlink.LinkByName(from)
	if err == nil {
		err = netlink.LinkSetName(link, to)
	}
	if err != nil {
		return fmt.Errorf("rename interface %s to %s: %w", from, to, err)
	}
	return nil
}

// Confine restricts the calling thread, which stays locked, before it becomes an emulated
// machine: a mount namespace in which only dir is writable, a tmpfs at the directory memory, and
// no capability but those to open a tap and to read files. Its children inherit the restrictions.
func Confine(dir, memory string) error {
	if err := lockTree(dir, memory); err != nil {
		return err
	}
	return keepCapabilities(unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH)
}

func lockTree(dir, memory string) error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return fmt.Errorf("make mounts of its own: %w", err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keep %s: %w", dir, err)
	}
	const recursive = unix.AT_RECURSIVE
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", recursive, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make the tree read-only: %w", err)
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("keep %s writable: %w", dir, err)
	}
	if err := unix.Mount("memory", memory, "tmpfs", 0, "mode=700"); err != nil {
		return fmt.Errorf("make memory at %s: %w", memory, err)
	}
	return nil
}

// keepCapabilities drops all but the named capabilities from the bounding set of the calling
// thread, and so from all that it may execute.
func keepCapabilities(keep ...uintptr) error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if slices.Contains(keep, c) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EINVAL) { // newer than the kernel
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	return nil
}
