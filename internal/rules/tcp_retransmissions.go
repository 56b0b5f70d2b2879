package rules

import (
	"fmt"

	"linerate/internal/model"
)

// retransmissions: much of what this host sends it sends twice: somewhere on its paths segments are lost.
func retransmissions() Rule {
	return Rule{
		ID:  "tcp-retransmissions",
		Doc: "Much of what this host sends it sends twice: somewhere on its paths segments are lost.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			count, ok := f.NetCounters.Get()
			if !ok {
				return nil
			}
			again, sent := count["Tcp.RetransSegs"], count["Tcp.OutSegs"]
			if sent < 1e6 || float64(again) < 1e-3*float64(sent) {
				return nil
			}
			out := model.Finding{
				Severity: Low, Title: "segments are sent again and again",
				Observed: fmt.Sprintf("%d of %d segments were retransmissions (%.2f%%), over all paths since the host started", again, sent, 100*float64(again)/float64(sent)),
				Fix:      "find the path with ss -ti, or watch a slow transfer with linerate explain",
				Source:   "RFC 4898 (SegsRetrans); Documentation/networking/snmp_counter.rst (TcpRetransSegs)",
			}
			if float64(again) >= 0.01*float64(sent) {
				out.Severity = Medium
			}
			return []model.Finding{out}
		},
	}
}
