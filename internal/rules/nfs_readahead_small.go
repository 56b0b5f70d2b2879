package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

// Two windows of read-ahead are in flight at most (size.AheadInFlight).
func nfsReadahead() Rule {
	return Rule{
		ID:     "nfs-readahead-small",
		Limits: []model.LimiterID{model.NFSConcurrency},
		Doc:    "The kernel requests no more than the read-ahead from the server at once: on a path with delay a single reader then waits most of the time.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				ahead, ok := m.Ahead.Get()
				rtt, ok2 := m.MinRTT.Get()
				speed := pathSpeed(f, c, m)
				if !isNFS(m) || !ok || !ok2 || rtt <= 0 || speed <= 0 {
					return nil
				}
				rsize := unit.Bytes(o.number("rsize"))
				// small bounds a program that reads less than the read-ahead at a time, large any
				// program.
				small, large := size.AheadInFlight(size.AheadWindow(ahead, 0, rsize)), size.AheadInFlight(size.AheadMost(ahead, rsize))
				out := &model.Finding{
					Severity: Medium, Title: "one reader of " + m.Point + " cannot fill the path",
					Fix:    fmt.Sprintf("raise the read-ahead of %s (nfsrahead, or /sys/class/bdi/…/read_ahead_kb) to %s or more", m.Point, 2*size.InFlight(speed, rtt)),
					Source: "nfsrahead(5); mm/readahead.c (page_cache_sync_ra, page_cache_async_ra); mm/fadvise.c; Linux 5.4 lowered the default to 128 KiB",
				}
				switch {
				case *perRTT(large, rtt) < speed:
					out.Bound = perRTT(large, rtt)
					out.Observed = fmt.Sprintf("%s: read-ahead %s, rsize %s: at most 2 × %s in flight for one reader, %s / %v", m.Point, ahead, rsize, size.AheadMost(ahead, rsize), large, rtt)
				case *perRTT(small, rtt) < speed/2:
					out.Severity, out.Title = Low, "one reader of "+m.Point+" may not fill the path"
					out.Observed = fmt.Sprintf("%s: read-ahead %s: a program that reads less than that at a time has 2 × %s / %v = %s", m.Point, ahead, ahead, rtt, *perRTT(small, rtt))
				default:
					return nil
				}
				return out
			})
		},
	}
}
