package setter

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// sysctlNumbers is how many numbers a setting has, and the range of each.
type sysctlNumbers struct {
	count int
	limits
}

// sysctlRange is what the kernel accepts, by the handlers and bounds of
// net/ipv4/sysctl_net_ipv4.c, net/core/sysctl_net_core.c, mm/page-writeback.c, kernel/sysctl.c
// and net/sunrpc/xprtsock.c (6.18). Other settings, and the narrower ranges of older kernels, are
// checked only by the kernel.
func sysctlRange(name string) (sysctlNumbers, bool) {
	const i32, u8, u32 = 1<<31 - 1, 255, 1<<32 - 1
	one := func(low, high int64) sysctlNumbers { return sysctlNumbers{1, limits{low, high, false}} }
	switch name {
	case "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem":
		return sysctlNumbers{3, limits{1, i32, false}}, true
	case "net.ipv4.tcp_mem":
		return sysctlNumbers{3, limits{0, 1<<62 - 1, false}}, true
	case "net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default":
		return one(1, i32), true
	case "net.core.netdev_max_backlog", "net.core.netdev_budget", "net.core.netdev_budget_usecs", "net.core.optmem_max", "net.core.somaxconn",
		"net.core.busy_poll", "net.core.busy_read", "net.ipv4.tcp_limit_output_bytes", "vm.min_free_kbytes", "vm.vfs_cache_pressure",
		"vm.dirty_expire_centisecs", "vm.dirty_writeback_centisecs":
		return one(0, i32), true
	case "net.core.rps_sock_flow_entries":
		return one(0, 1<<29), true
	case "net.ipv4.tcp_notsent_lowat":
		return one(0, u32), true
	case "net.ipv4.tcp_timestamps":
		return one(0, 2), true
	case "net.ipv4.tcp_adv_win_scale":
		return one(-31, 31), true
	case "net.ipv4.tcp_sack", "net.ipv4.tcp_dsack", "net.ipv4.tcp_window_scaling", "net.ipv4.tcp_moderate_rcvbuf", "net.ipv4.tcp_slow_start_after_idle",
		"net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_no_metrics_save", "net.ipv4.tcp_ecn", "net.ipv4.tcp_autocorking", "net.ipv4.tcp_min_tso_segs":
		return one(0, u8), true
	case "vm.swappiness":
		return one(0, 200), true
	case "sunrpc.tcp_slot_table_entries", "sunrpc.tcp_max_slot_table_entries":
		return one(2, 65536), true // RPC_MIN_SLOT_TABLE, RPC_MAX_SLOT_TABLE_LIMIT
	case "kernel.numa_balancing":
		return one(0, 3), true
	}
	return sysctlNumbers{}, false
}

// sysctlFits refuses what no kernel would accept.
func sysctlFits(at Place, words []string) error {
	r, ok := sysctlRange(strings.TrimPrefix(at.Setting, sysctlPrefix))
	if !ok {
		return nil
	}
	if len(words) != r.count {
		return fmt.Errorf("value %q of %s: want %d numbers: %w", strings.Join(words, " "), at, r.count, ErrValue)
	}
	for _, w := range words {
		if _, err := numberIn(at, "value", w, r.limits); err != nil {
			return err
		}
	}
	return nil
}

// Scopes of a sysctl.
const (
	ScopeMachine   = "machine"   // one value for all network namespaces
	ScopeNamespace = "namespace" // a value of its own in each network namespace
)

// SysctlScope tells whether a sysctl exists once per machine or once per network namespace
// (containers have their own), as of Linux 6.18: tables of net/core and net/ipv4 that are
// registered only for init_net, or read-only elsewhere, are the machine's.
func SysctlScope(setting string) string {
	name := strings.TrimPrefix(setting, sysctlPrefix)
	own := []string{"net.core.optmem_max", "net.core.somaxconn", "net.core.txrehash", "net.core.xfrm_aevent_etime", "net.core.xfrm_aevent_rseqth"}
	shared := []string{
		"net.ipv4.tcp_mem", "net.ipv4.tcp_max_orphans", "net.ipv4.tcp_low_latency", "net.ipv4.udp_mem", "net.ipv4.inet_peer_maxttl",
		"net.ipv4.inet_peer_minttl", "net.ipv4.inet_peer_threshold", "net.ipv4.tcp_allowed_congestion_control", "net.netfilter.nf_conntrack_max",
		"net.ipv4.fib_sync_mem",
	}
	switch {
	case !strings.HasPrefix(name, "net."), strings.HasPrefix(name, "net.core.") && !slices.Contains(own, name), slices.Contains(shared, name):
		return ScopeMachine
	}
	return ScopeNamespace
}

// sysctlHint explains a refusal that is probably due to the process being in a namespace.
func sysctlHint(setting string, err error) string {
	if SysctlScope(setting) == ScopeMachine && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)) {
		return " (one value for the whole machine: a namespace or container cannot set it)"
	}
	return ""
}
