package setter

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"linerate/internal/kernel"
)

// Ids of this mechanism.
const (
	MTUSetting        = "linux.link.mtu"
	TxQueueLenSetting = "linux.link.txqueuelen"
)

// Links reads and changes an interface; the kernel package implements it by rtnetlink.
type Links interface {
	Read(ifname string) (kernel.LinkState, error)
	SetMTU(ifname string, mtu int) error
	SetTxQueueLen(ifname string, packets int) error
}

// Link sets the MTU (bytes) and the transmit queue length (packets) of an interface. It refuses
// an MTU with side effects that restoring the MTU does not undo: below 1280 bytes IPv6 leaves the
// interface with its addresses, routes and settings, disable_ipv6 among them, and from 1280 on it
// comes with those of every new interface (RFC 8200 section 5, net/ipv6/addrconf.c); and the MTU of
// interfaces above this one shrinks too (net/8021q/vlan.c).
type Link struct {
	Links Links
	// Interface finds the present interface name of a model.NIC.Device.
	Interface func(device string) (ifname string, err error)
}

// linkLimits are the bounds of include/uapi/linux/if_ether.h (ETH_MIN_MTU, ETH_MAX_MTU). Those of
// the queue are linerate's: a FIFO allocates memory for all of it at once
// (net/sched/sch_generic.c, pfifo_fast_init).
func linkLimits(setting string) (limits, bool) {
	l, ok := map[string]limits{MTUSetting: {68, 65535, false}, TxQueueLenSetting: {0, 1_000_000, false}}[setting]
	return l, ok
}

const minIPv6MTU = 1280

func (Link) Owns(setting string) bool { _, ok := linkLimits(setting); return ok }

func (Link) Canonical(at Place, value string) (string, error) {
	l, err := linkPlace(at)
	if err != nil {
		return "", err
	}
	return oneNumber(at, value, l)
}

func linkPlace(at Place) (limits, error) {
	l, ok := linkLimits(at.Setting)
	if !ok {
		return l, fmt.Errorf("link %s: want %s or %s: %w", at, MTUSetting, TxQueueLenSetting, ErrValue)
	}
	_, err := shellInterface(at.Target)
	return l, err
}

func (l Link) Read(_ context.Context, at Place, _ string) (string, error) {
	_, now, err := l.state(at)
	if err != nil {
		return "", err
	}
	if at.Setting == MTUSetting {
		return strconv.Itoa(now.MTU), nil
	}
	return strconv.Itoa(now.TxQueueLen), nil
}

func (l Link) state(at Place) (string, kernel.LinkState, error) {
	if _, err := linkPlace(at); err != nil {
		return "", kernel.LinkState{}, err
	}
	ifname, err := l.Interface(at.Target)
	if err != nil {
		return "", kernel.LinkState{}, fmt.Errorf("find the interface of %s: %w", at.Target, err)
	}
	now, err := l.Links.Read(ifname)
	if err != nil {
		return "", now, fmt.Errorf("read %s (now %s): %w", at, ifname, err)
	}
	return ifname, now, nil
}

func (l Link) Write(_ context.Context, at Place, value string) error {
	return l.write(at, value, func(now kernel.LinkState, mtu int) error {
		return cmp.Or(mtuPossible(now, mtu), keepsIPv6(now, mtu))
	})
}

// Restore implements Restorer: IPv6 may come or go with an original MTU.
func (l Link) Restore(_ context.Context, at Place, value string) (aside string, err error) {
	err = l.write(at, value, func(now kernel.LinkState, mtu int) error {
		if keepsIPv6(now, mtu) != nil {
			aside = fmt.Sprintf("%s is %d again, and IPv6 came back to the interface as to a new one: addresses, routes and settings that it had before it was below %d are not back, where nothing else sets them", at, mtu, minIPv6MTU)
		}
		if keepsIPv6(now, mtu) != nil && mtu < minIPv6MTU {
			aside = fmt.Sprintf("%s is %d again, and IPv6 has left the interface, with its addresses, routes and settings", at, mtu)
		}
		return mtuPossible(now, mtu)
	})
	if err != nil {
		aside = ""
	}
	return aside, err
}

func (l Link) write(at Place, value string, allowed func(now kernel.LinkState, mtu int) error) error {
	value, err := l.Canonical(at, value)
	if err != nil {
		return err
	}
	ifname, now, err := l.state(at)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("write %q to %s: %w", value, at, err)
	}
	set := l.Links.SetTxQueueLen
	if at.Setting == MTUSetting {
		if err := allowed(now, n); err != nil {
			return fmt.Errorf("write %s to %s (now %s): %w", value, at, ifname, err)
		}
		set = l.Links.SetMTU
	}
	if err := set(ifname, n); err != nil {
		return fmt.Errorf("write %s to %s (now %s): %w", value, at, ifname, err)
	}
	return nil
}

func mtuPossible(now kernel.LinkState, mtu int) error {
	if now.MinMTU > 0 && mtu < now.MinMTU || now.MaxMTU > 0 && mtu > now.MaxMTU {
		return fmt.Errorf("the device takes %d to %d bytes: %w", now.MinMTU, now.MaxMTU, ErrValue)
	}
	for _, up := range now.Above {
		if up.MTU > mtu {
			return fmt.Errorf("%s is stacked on it with MTU %d, which would shrink and could not be restored: lower that first: %w", up.Name, up.MTU, ErrSideEffect)
		}
	}
	return nil
}

func keepsIPv6(now kernel.LinkState, mtu int) error {
	switch under := mtu < minIPv6MTU; {
	case !now.IPv6 || under == (now.MTU < minIPv6MTU):
		return nil
	case under:
		return fmt.Errorf("below %d bytes IPv6 leaves the interface, and its addresses, routes and settings would not come back with the MTU: stay at %[1]d or above: %w", minIPv6MTU, ErrSideEffect)
	}
	return fmt.Errorf("from %d bytes on IPv6 comes to the interface, and would stay there: set it to %[1]d by hand first: %w", minIPv6MTU, ErrSideEffect)
}

func (Link) Shell(at Place, _ string) (Shell, error) {
	if _, err := linkPlace(at); err != nil {
		return Shell{}, err
	}
	find, err := shellInterface(at.Target)
	if err != nil {
		return Shell{}, err
	}
	file, word := "mtu", "mtu"
	programs := interfacePrograms(at.Target)
	if at.Setting == TxQueueLenSetting {
		// In a user namespace the kernel accepts a queue length only by rtnetlink
		// (net/core/net-sysfs.c, tx_queue_len_store).
		file, word = "tx_queue_len", "txqueuelen"
		programs = append(programs, "ip")
	}
	return Shell{
		Programs: programs,
		Read:     "dev=$(" + find + `) && cat "/sys/class/net/$dev/` + file + `"`,
		Write: "dev=$(" + find + `) && { { printf '%s\n' "$value" > "/sys/class/net/$dev/` + file + `"; } 2>/dev/null || ` +
			`ip link set dev "$dev" ` + word + ` "$value"; }`,
	}, nil
}
