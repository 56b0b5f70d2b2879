package host

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"linerate/internal/guide"
	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// What a file is checked against is what a host can do.
func TestCheckersAreTheMechanisms(t *testing.T) {
	var have, want []string
	for _, s := range setter.Checkers() {
		have = append(have, reflect.TypeOf(s).String())
	}
	for _, s := range Setters(kernel.Live{}) {
		want = append(want, reflect.TypeOf(s).String())
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("checkers are\n%v, mechanisms\n%v", have, want)
	}
}

// What linerate can set is described, and by one mechanism; and the other way
// round what the guide describes of these kinds can be set.
func TestMechanismsAndGuideAgree(t *testing.T) {
	owners := func(setting string) (n int) {
		for _, s := range Setters(kernel.Live{}) {
			if s.Owns(setting) {
				n++
			}
		}
		return n
	}
	described := map[string]bool{}
	for _, s := range guide.All() {
		described[s.ID] = true
	}
	for _, id := range []string{
		"linux.link.mtu", "linux.link.txqueuelen", "linux.ethtool.features", "linux.ethtool.ring", "linux.ethtool.channels", "linux.ethtool.coalesce",
		"linux.ethtool.pause", "linux.ethtool.rss", "linux.tc.qdisc", "linux.tc.fq_maxrate", "linux.route.initcwnd", "linux.route.initrwnd", "linux.route.mtu",
		"linux.route.advmss", "linux.route.window", "linux.route.congctl", "linux.route.quickack", "linux.irq.affinity", "linux.queue.rps_cpus",
		"linux.queue.rps_flow_cnt", "linux.queue.xps_cpus", "linux.cpu.governor", "linux.cpu.energy_performance_preference", "linux.cpu.cstates",
		"linux.block.scheduler", "linux.block.nr_requests", "linux.block.read_ahead_kb", "linux.block.max_sectors_kb", "linux.block.rq_affinity",
		"linux.block.nomerges", "linux.bdi.nfs_readahead", "linux.nfsd.threads", "linux.nfsd.max_block_size", "linux.sysctl.vm.dirty_ratio",
		"linux.sysctl.vm.dirty_background_ratio", "linux.sysctl.net.core.rps_sock_flow_entries", "linux.sysctl.sunrpc.tcp_slot_table_entries",
		"linux.sysctl.kernel.numa_balancing", "linux.mount.nfs.rsize", "linux.mount.nfs.nconnect", "linux.mount.nfs.vers", "linux.mount.cifs.multichannel", "linux.mount.nfs.sync", "linux.mount.cifs.sync", "linux.mount.cifs.actimeo",
		"linux.samba.multichannel", "linux.samba.socket_options", "linux.samba.aio_sendfile", "linux.samba.signing", "linux.iscsi.bursts",
		"linux.iscsi.digests", "linux.iscsi.max_recv_segment", "linux.iscsi.queue_depth", "linux.iscsi.sessions", "linux.iscsi.timeouts",
		"linux.service.irqbalance", "linux.zfsmodule.zfs_arc_max", "any.zfs.sync", "any.zfs.recordsize", "any.zfs.compression", "any.zfs.dedup",
		"any.zfs.primarycache", "any.zfs.atime", "any.zfs.direct",
	} {
		if !described[id] || owners(id) != 1 {
			t.Errorf("%s: described %v, owned by %d mechanisms", id, described[id], owners(id))
		}
	}
	for _, s := range guide.All() {
		n := owners(s.ID)
		if n > 1 || n == 0 && (strings.HasPrefix(s.ID, "linux.sysctl.") || strings.HasPrefix(s.ID, "linux.block.") || strings.HasPrefix(s.ID, "linux.samba.") || strings.HasPrefix(s.ID, "linux.iscsi.") || strings.HasPrefix(s.ID, "linux.route.")) {
			t.Errorf("%s is owned by %d mechanisms", s.ID, n)
		}
	}
}
