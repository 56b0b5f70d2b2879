package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// littleDirty is a limit of dirty pages that a port of 1 Gbit/s fills in half a second.
const littleDirty = 64 * unit.MiB

// Data on its way to a server counts against the limit too, so the limit also bounds what is
// in flight.
func dirtyLimit() Rule {
	return Rule{
		ID:     "dirty-limit-small",
		Limits: []model.LimiterID{model.ApplicationSource},
		Doc:    "Writing programs are blocked once the dirty pages reach the limit: with a low limit they stop again and again.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			limit, how := dirtyBytes(f)
			if limit <= 0 || limit >= littleDirty {
				return nil
			}
			out := model.Finding{
				Severity: Low, Title: "writers are blocked after little data",
				Observed: fmt.Sprintf("%s: at most %s unwritten", how, limit),
				Fix:      "set vm.dirty_ratio to 20, its default, which turns vm.dirty_bytes off; or set vm.dirty_bytes to at least one second of line rate",
				Source:   "Documentation/admin-guide/sysctl/vm.rst (dirty_bytes, dirty_ratio); mm/page-writeback.c (balance_dirty_pages)",
			}
			for _, m := range f.Storage {
				rtt, speed := m.MinRTT.Or(0), pathSpeed(f, c, m)
				if rtt <= 0 || speed <= 0 || *perRTT(limit, rtt) >= speed {
					continue
				}
				out.Severity, out.Bound = Medium, perRTT(limit, rtt)
				out.Observed += fmt.Sprintf("; writes to %s carry %s / %v", m.Point, limit, rtt)
				break
			}
			return []model.Finding{out}
		},
	}
}

// dirtyBytes is the limit in force: dirty_bytes, or else dirty_ratio of all memory. The latter
// is an upper bound, since the kernel applies the ratio to the available memory.
func dirtyBytes(f *model.Facts) (unit.Bytes, string) {
	v, ok := setting(f, "linux.sysctl.vm.dirty_bytes")
	if !ok {
		return 0, ""
	}
	if n := decimal(v); n > 0 {
		return unit.Bytes(n), "vm.dirty_bytes = " + v
	}
	ratio, ok := setting(f, "linux.sysctl.vm.dirty_ratio")
	memory, ok2 := f.Memory.Get()
	if n := decimal(ratio); ok && ok2 && n > 0 {
		return memory * unit.Bytes(n) / 100, fmt.Sprintf("vm.dirty_ratio = %d of %s", n, memory)
	}
	return 0, ""
}
