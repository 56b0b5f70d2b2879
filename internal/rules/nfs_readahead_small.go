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
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				ahead, ok := m.Ahead.Get()
				rtt, ok2 := m.MinRTT.Get()
				speed := speedTo(f, m)
				if !isNFS(m) || !ok || !ok2 || rtt <= 0 || speed <= 0 {
					return nil
				}
				// Two windows of read-ahead can be under way, each of the read-ahead or of
				// one request, whichever is larger; twice that is allowed for.
				flight := 4 * max(ahead, unit.Bytes(o.number("rsize")))
				bound := perRTT(flight, rtt)
				if *bound >= speed {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: "one reader of " + m.Point + " cannot fill the path", Bound: bound,
					Observed: fmt.Sprintf("%s: read-ahead %s, at most %s under way: %s / %v", m.Point, ahead, flight, flight, rtt),
					Fix:      fmt.Sprintf("raise the read-ahead of %s (nfsrahead, or /sys/class/bdi/…/read_ahead_kb) to %s or more", m.Point, 2*unit.Bytes(float64(speed)/8*rtt.Seconds())),
					Source:   "nfsrahead(5); mm/readahead.c; Linux 5.4 lowered the default to 128 KiB",
				}
			})
		},
	}
}
