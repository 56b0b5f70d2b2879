package rules

import (
	"fmt"

	"linerate/internal/model"
)

// queuePruned: the kernel threw away data it had received, for want of room in a socket; it has to be sent again.
func queuePruned() Rule {
	return Rule{
		ID:  "receive-queue-pruned",
		Doc: "The kernel threw away data it had received, for want of room in a socket; it has to be sent again.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			count, ok := f.NetCounters.Get()
			if !ok {
				return nil
			}
			n := count["TcpExt.RcvPruned"] + count["TcpExt.TCPRcvQDrop"] + count["TcpExt.TCPBacklogDrop"]
			if n < 100 || float64(n) < 1e-5*float64(count["Tcp.InSegs"]) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "received data was thrown away for want of buffer",
				Observed: fmt.Sprintf("RcvPruned %d, TCPRcvQDrop %d, TCPBacklogDrop %d of %d segments", count["TcpExt.RcvPruned"], count["TcpExt.TCPRcvQDrop"], count["TcpExt.TCPBacklogDrop"], count["Tcp.InSegs"]),
				Fix:      "raise the maximum of net.ipv4.tcp_rmem; see whether the receiving program keeps up",
				Source:   "Documentation/networking/snmp_counter.rst (PruneCalled, RcvPruned, TCPBacklogDrop)",
			}}
		},
	}
}
