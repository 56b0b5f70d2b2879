package rules

import (
	"fmt"

	"linerate/internal/model"
)

func queuePruned() Rule {
	return Rule{
		ID:     "receive-queue-pruned",
		Limits: []model.LimiterID{model.PathLoss, model.ApplicationSink},
		Doc:    "The kernel discarded received data because a socket buffer was full; it has to be sent again.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 100, 1e-5, ofStack("Tcp.InSegs", "TcpExt.RcvPruned", "TcpExt.TCPRcvQDrop", "TcpExt.TCPBacklogDrop"))
			if t == nil {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Low), Title: "received data was discarded because a socket buffer was full",
				Observed: fmt.Sprintf("RcvPruned, TCPRcvQDrop and TCPBacklogDrop: %d of %d segments %s", t.bad, t.all, t.over(sinceBoot)),
				Fix:      "raise the maximum of net.ipv4.tcp_rmem; see whether the receiving program keeps up",
				Source:   "Documentation/networking/snmp_counter.rst (RcvPruned, TCPBacklogDrop); net/ipv4/tcp_input.c (tcp_data_queue)",
			}}
		},
	}
}
