package rules

import (
	"fmt"

	"linerate/internal/model"
)

// ringOverrun: the NIC drops frames because its receive ring is full: the host fetches them too late.
func ringOverrun() Rule {
	return Rule{
		ID:  "ring-overrun",
		Doc: "The NIC drops frames because its receive ring is full: the host fetches them too late.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				missed, ok := counter(n, "rx_missed_errors")
				fifo, _ := counter(n, "rx_fifo_errors")
				packets, _ := counter(n, "rx_packets")
				missed = max(missed, fifo) // drivers count the same drop in either or both
				if !ok || missed < 100 || packets <= 0 || float64(missed) < 1e-5*float64(packets) {
					return nil
				}
				out := &model.Finding{
					Severity: Medium, Title: n.Name + " drops frames that the host does not fetch in time",
					Observed: fmt.Sprintf("%s: %d frames missed, %d received", n.Name, missed, packets),
					Fix:      "spread the receive queues of " + n.Name + " over more cores, near its NUMA node",
					Source:   "Documentation/networking/statistics.rst (rx_missed_errors, rx_fifo_errors)",
				}
				if r, ok := n.Ring.Get(); ok && r.Rx > 0 && r.Rx < r.RxMax {
					out.Observed += fmt.Sprintf(", receive ring %d of %d", r.Rx, r.RxMax)
					out.Fix = fmt.Sprintf("raise the receive ring of %s from %d (ethtool -G; it can %d)", n.Name, r.Rx, r.RxMax)
				}
				return out
			})
		},
	}
}
