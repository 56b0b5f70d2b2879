package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// nfsReadahead: the kernel asks the server for no more than the read-ahead at once: on a path with delay one reader then waits most of the time.
func nfsReadahead() Rule {
	return Rule{
		ID:  "nfs-readahead-small",
		Doc: "The kernel asks the server for no more than the read-ahead at once: on a path with delay one reader then waits most of the time.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				ahead, ok := m.Ahead.Get()
				rtt, ok2 := m.MinRTT.Get()
				speed := pathSpeed(f, c, m)
				if !isNFS(m) || !ok || !ok2 || rtt <= 0 || speed <= 0 {
					return nil
				}
				out := &model.Finding{
					Severity: Medium, Title: "one reader of " + m.Point + " cannot fill the path",
					Fix:    fmt.Sprintf("raise the read-ahead of %s (nfsrahead, or /sys/class/bdi/…/read_ahead_kb) to %s or more", m.Point, 2*unit.Bytes(float64(speed)/8*rtt.Seconds())),
					Source: "nfsrahead(5); mm/readahead.c (page_cache_sync_ra, page_cache_async_ra); Linux 5.4 lowered the default to 128 KiB",
				}
				// Two windows are under way, the one being read and the next. A program
				// that asks for more at once gets windows of up to a request's size; twice
				// that is allowed for.
				small, large := 2*ahead, 4*max(ahead, unit.Bytes(o.number("rsize")))
				switch {
				case *perRTT(large, rtt) < speed:
					out.Bound = perRTT(large, rtt)
					out.Observed = fmt.Sprintf("%s: read-ahead %s, at most %s under way: %s / %v", m.Point, ahead, large, large, rtt)
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
