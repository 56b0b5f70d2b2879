package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// sysctlID is the prefix of the setting id of a sysctl.
const sysctlID = "linux.sysctl."

// moduleID is the prefix of the setting id of a module's parameter, MODULE.PARAMETER.
const moduleID = "linux.module."

// sysctls are the settings that bound, or explain, what TCP does.
func sysctls() []string {
	return []string{
		"kernel.numa_balancing",
		"net.core.default_qdisc",
		"net.core.netdev_budget",
		"net.core.netdev_max_backlog",
		"net.core.optmem_max",
		"net.core.rmem_default",
		"net.core.rmem_max",
		"net.core.wmem_default",
		"net.core.wmem_max",
		"net.ipv4.ip_forward",
		"net.ipv4.tcp_adv_win_scale",
		"net.ipv4.tcp_allowed_congestion_control",
		"net.ipv4.tcp_available_congestion_control",
		"net.ipv4.tcp_base_mss",
		"net.ipv4.tcp_congestion_control",
		"net.ipv4.tcp_dsack",
		"net.ipv4.tcp_ecn",
		"net.ipv4.tcp_limit_output_bytes",
		"net.ipv4.tcp_mem",
		"net.ipv4.tcp_min_tso_segs",
		"net.ipv4.tcp_moderate_rcvbuf",
		"net.ipv4.tcp_mtu_probing",
		"net.ipv4.tcp_no_metrics_save",
		"net.ipv4.tcp_notsent_lowat",
		"net.ipv4.tcp_rmem",
		"net.ipv4.tcp_sack",
		"net.ipv4.tcp_slow_start_after_idle",
		"net.ipv4.tcp_timestamps",
		"net.ipv4.tcp_window_scaling",
		"net.ipv4.tcp_wmem",
		"sunrpc.tcp_max_slot_table_entries",
		"sunrpc.tcp_slot_table_entries",
		"vm.dirty_background_bytes",
		"vm.dirty_background_ratio",
		"vm.dirty_bytes",
		"vm.dirty_ratio",
		"vm.zone_reclaim_mode",
	}
}

// readSysctls reads each sysctl; the fact of one that is absent or denied says so. The whole view
// is missing only when none can be read.
func readSysctls(_ context.Context, src kernel.Source, f *model.Facts) error {
	var errs []error
	for _, name := range sysctls() {
		b, err := src.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		if err != nil {
			errs = append(errs, err)
			f.Settings[sysctlID+name] = lost[string](err)
			continue
		}
		f.Settings[sysctlID+name] = model.Known(strings.Join(strings.Fields(string(b)), " "))
	}
	for _, p := range []string{"nfs.max_session_slots", "pcie_aspm.policy"} {
		module, name, _ := strings.Cut(p, ".")
		if w := word(src, "/sys/module/"+module+"/parameters/"+name); w.State != model.Absent {
			f.Settings[moduleID+p] = w
		}
	}
	if len(errs) == len(sysctls()) {
		// A denied sysctl says more than an absent one.
		first := errs[max(0, slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, fs.ErrPermission) }))]
		return fmt.Errorf("none of %d settings can be read, such as %w", len(errs), first)
	}
	return nil
}
