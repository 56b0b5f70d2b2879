package tune

import (
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/tune/setter"
)

// ranks give the order in which settings are changed, by the beginning of
// their ids; the longest match counts, what is not named goes where other does.
// The reasons:
//   - what takes the link down goes first and together, device by device: the
//     operator is cut off once, and before anything else depends on the link;
//     new channels reset rings' and RSS's state, an MTU sizes the rings' buffers;
//   - offloads and coalescing after them: drivers drop some at a new MTU or ring;
//   - irqbalance before the affinity that it would overwrite, both after the
//     channels that make the vectors; RSS, RPS and XPS count those channels. But
//     an RSS table that is given back to the kernel goes before the channels
//     (see rank);
//   - the default queue before the interfaces' own, and both before a congestion
//     control that paces by them (bbr wants fq below Linux 4.13);
//   - net.core's ceilings (illumos: max_buf) before the TCP windows below them;
//   - storage and mounts last: they open connections with what is then in force.
func ranks() map[string]int {
	return map[string]int{
		"linux.ethtool.pause": 10, "linux.ethtool.fec": 11, "linux.ethtool.channels": 13, "linux.ethtool.ring": 14,
		"linux.bond.": 15, "linux.link.mtu": 16,
		"linux.ethtool.": 20, "linux.link.": 21,
		"linux.service.": 30, setter.RSSSetting: 31, "linux.irq.": 32, "linux.queue.": 33,
		"linux.cpu.": 40, "linux.pcie.": 41,
		"linux.sysctl.net.core.default_qdisc": 50, "linux.qdisc.": 51, "linux.tc.": 51,
		"linux.sysctl.net.core.": 52, "linux.sysctl.net.ipv4.tcp_mem": 53, "linux.sysctl.net.": 54,
		"linux.sysctl.net.ipv4.tcp_congestion_control": 55, "linux.sysctl.": 56, "linux.route.": 57,
		"illumos.ipadm.tcp.max_buf": 52, "illumos.ipadm.": 54, "illumos.dladm.": 16,
		"freebsd.sysctl.dev.": 10, "freebsd.ifconfig.": 16, "freebsd.sysctl.kern.ipc.maxsockbuf": 52, "freebsd.sysctl.": 54,
		"macos.link.": 16, "macos.sysctl.kern.ipc.maxsockbuf": 52, "macos.sysctl.": 54,
		"linux.block.": 70, "linux.bdi.": 71, "linux.nvme.": 72, "linux.zfs": 73, "any.zfs.": 73,
		"linux.nfsd.": 80, "linux.samba.": 81, "linux.iscsi.": 82, "linux.mount.": 83,
	}
}

const (
	otherRank    = 60
	flapRanks    = 16 // up to here a change takes the link down
	rssFirstRank = 12 // just before the channels
)

// Order returns changes in the order in which they are safe to make: what flaps
// a link first and device by device, dependent settings one after the other.
// Undoing backwards then is safe too. Changes of one rank keep their order, so
// ordering twice changes nothing.
func Order(changes []model.Change) []model.Change {
	out := slices.Clone(changes)
	device := map[string]int{} // by first appearance among those that flap
	for _, c := range out {
		if _, ok := device[c.Target]; !ok && rank(c) <= flapRanks {
			device[c.Target] = len(device)
		}
	}
	slices.SortStableFunc(out, func(a, b model.Change) int {
		ra, rb := rank(a), rank(b)
		if ra <= flapRanks && rb <= flapRanks && device[a.Target] != device[b.Target] {
			return device[a.Target] - device[b.Target]
		}
		return ra - rb
	})
	return out
}

// rank is where a change belongs. New channels make a new table of RSS, and
// setter.Ethtool refuses them while a table stands that was set by hand: so the
// table goes first where it is given back to the kernel, else after them.
func rank(c model.Change) int {
	if c.Setting == setter.RSSSetting && strings.TrimSpace(c.To) == setter.RSSDefault {
		return rssFirstRank
	}
	best, length := otherRank, 0
	for prefix, r := range ranks() {
		if strings.HasPrefix(c.Setting, prefix) && len(prefix) > length {
			best, length = r, len(prefix)
		}
	}
	return best
}
