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

// SocketPair is a cable: what goes in at one end comes out at the other.
func SocketPair() (near, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make cable: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "cable"), os.NewFile(uintptr(fds[1]), "cable"), nil
}

// tapQueue is how many packets wait for a machine that is slow to take them;
// what a link may hold is bounded elsewhere.
const tapQueue = 20000

// AddTap makes an interface whose cable an emulated machine holds; it stays
// while none does.
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

// RenameInterface gives an interface that is down another name.
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

// Confine shuts the calling thread, which stays locked, in before it becomes an
// emulated machine: mounts of its own, in which nothing can be written but what
// is below dir, a file system in memory of its own at memory, a directory, and
// no capability but to open a tap and to read files. What it starts is shut in
// with it.
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

// keepCapabilities takes all but those named from what the calling thread can
// have after Replace.
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
