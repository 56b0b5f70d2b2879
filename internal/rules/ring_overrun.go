package rules

import (
	"fmt"

	"linerate/internal/model"
)

func ringOverrun() Rule {
	return Rule{
		ID:     "ring-overrun",
		Limits: []model.LimiterID{model.PathLoss, model.ReceiverCPU},
		Doc:    "The NIC drops frames because its receive ring is full: the host fetches frames too late.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				t := c.tally(f, 100, 1e-5, ofPort(n, "rx_packets", "rx_missed_errors", "rx_fifo_errors"))
				if t == nil {
					return nil
				}
				out := &model.Finding{
					Severity: t.severity(Medium), Title: n.Name + " drops frames that the host does not fetch in time",
					Observed: fmt.Sprintf("%s: %d frames missed, %d received %s", n.Name, t.bad, t.all, t.over(sinceSetUp)),
					Fix:      "spread the receive queues of " + n.Name + " over more cores, near its NUMA node",
					Source:   "Documentation/networking/statistics.rst (rx_missed_errors, rx_fifo_errors)",
				}
				if r, ok := n.Ring.Get(); ok && r.Rx > 0 && r.Rx < r.RxMax {
					out.Observed += fmt.Sprintf("; receive ring %d of %d", r.Rx, r.RxMax)
					out.Fix = fmt.Sprintf("raise the receive ring of %s from %d (ethtool -G; it can %d)", n.Name, r.Rx, r.RxMax)
				}
				return out
			})
		},
	}
}
