package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// ReadEth reads one group of driver parameters, by the names of ethtool(8): rx, tx, combined,
// rx-usecs, adaptive-rx (0 or 1), rx-max for a bound, and rx-step if the driver rounds to a
// multiple of it. Those that the driver lacks are left out; without any of them the error is
// errors.ErrUnsupported.
func ReadEth(ifname string, group EthGroup) (map[string]int64, error) {
	e, g, err := ethFamily(group)
	if err != nil {
		return nil, err
	}
	if err := askable(ifname, group); err != nil {
		return nil, err
	}
	b, err := e.ask(ifname, g.get)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", group, ifname, ethErr(err))
	}
	out, err := parseEthGroup(g, b)
	if err == nil && group == EthRing {
		err = addSteps(ifname, out)
	}
	return out, err
}

// addSteps adds "rx-step" for a driver that rounds every ring that is set to a multiple of it,
// but starts with a ring that is none, which could not be restored. vmxnet3 needs as many buffers
// for a packet as its MTU takes and rounds to 32 of them (drivers/net/vmxnet3,
// vmxnet3_adjust_rx_ring_size).
func addSteps(ifname string, ring map[string]int64) error {
	if driverOf(ifname) != "vmxnet3" {
		return nil
	}
	link, err := netlink.LinkByName(ifname)
	if err != nil {
		return fmt.Errorf("read MTU of %s: %w", ifname, err)
	}
	ring["rx-step"], ring["tx-step"] = vmxnet3Step(link.Attrs().MTU), 32
	return nil
}

// driverOf is the name of an interface's driver; empty if unknown.
func driverOf(ifname string) string {
	e, err := openEthtool()
	if err != nil {
		return ""
	}
	defer e.close()
	info := make([]byte, 196)
	if err := e.call(ifname, ethGetDriver, info); err != nil {
		return ""
	}
	driver, _, _ := parseDriver(info)
	return driver
}

// askable refuses a group that must not be requested from this interface's driver.
func askable(ifname string, group EthGroup) error {
	if group != EthRing {
		return nil
	}
	if why := unaskable(driverOf(ifname)); why != "" {
		return fmt.Errorf("%s of %s: %s: %w", group, ifname, why, unix.EOPNOTSUPP)
	}
	return nil
}

// SetEth sets parameters of a group and keeps the others. The driver may round them, so read
// back.
func SetEth(ifname string, group EthGroup, want map[string]int64) error {
	e, g, err := ethFamily(group)
	if err != nil {
		return err
	}
	if err := askable(ifname, group); err != nil {
		return err
	}
	values, err := ethValues(g, want)
	if err != nil {
		return err
	}
	req := nl.NewNetlinkRequest(int(e.family), unix.NLM_F_ACK)
	req.AddData(genl{g.get + 1, 1})
	const nested = 1 << 15
	header := nl.NewRtAttr(1|nested, nil)
	header.AddRtAttr(2, nl.ZeroTerminated(ifname))
	req.AddData(header)
	for _, v := range values {
		req.AddData(nl.NewRtAttr(int(v.kind), v.v))
	}
	if _, err := req.Execute(unix.NETLINK_GENERIC, 0); err != nil {
		return fmt.Errorf("set %s of %s: %w", group, ifname, ethErr(err))
	}
	return nil
}

func ethFamily(group EthGroup) (ethnl, ethGroup, error) {
	g, ok := ethGroups()[group]
	if !ok {
		return ethnl{}, g, fmt.Errorf("ethtool group %q: want ring, channels, coalesce or pause", group)
	}
	e, err := openEthnl()
	return e, g, err
}

// ethErr makes the error of a missing device fs.ErrNotExist for errors.Is.
func ethErr(err error) error {
	if errors.Is(err, unix.ENODEV) {
		return errors.Join(err, fs.ErrNotExist)
	}
	return err
}

// ReadRSS reads the indirection table by the SIOCETHTOOL ioctl, which every kernel has (netlink
// can set the table only since 6.17).
func ReadRSS(ifname string) (RSS, error) {
	e, err := openEthtool()
	if err != nil {
		return RSS{}, err
	}
	defer e.close()
	rings := make([]byte, 192) // struct ethtool_rxnfc
	if err := e.call(ifname, ethGetRxRings, rings); err != nil {
		return RSS{}, fmt.Errorf("count receive queues of %s: %w", ifname, ethErr(err))
	}
	size := make([]byte, 8)
	if err := e.call(ifname, ethGetRxIndir, size); err != nil {
		return RSS{}, fmt.Errorf("read the RSS table of %s: %w", ifname, ethErr(err))
	}
	n := min(int(u32(size, 4)), maxRSSTable)
	b := make([]byte, 8+4*n)
	binary.NativeEndian.PutUint32(b[4:], uint32(n))
	if err := e.call(ifname, ethGetRxIndir, b); err != nil {
		return RSS{}, fmt.Errorf("read the RSS table of %s: %w", ifname, ethErr(err))
	}
	r := RSS{Rings: int(u64(rings, 8)), Table: make([]uint32, n)}
	for i := range r.Table {
		r.Table[i] = u32(b, 8+4*i)
	}
	return r, nil
}

// SetRSS writes the whole indirection table. With an empty one the kernel spreads evenly over all
// queues and follows their number from then on.
func SetRSS(ifname string, table []uint32) error {
	e, err := openEthtool()
	if err != nil {
		return err
	}
	defer e.close()
	b := make([]byte, 8, 8+4*len(table))
	binary.NativeEndian.PutUint32(b[4:], uint32(len(table)))
	for _, q := range table {
		b = binary.NativeEndian.AppendUint32(b, q)
	}
	if err := e.call(ifname, ethSetRxIndir, b); err != nil {
		return fmt.Errorf("set the RSS table of %s: %w", ifname, ethErr(err))
	}
	return nil
}
