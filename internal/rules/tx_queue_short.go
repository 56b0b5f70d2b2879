package rules

import (
	"fmt"

	"linerate/internal/model"
)

func txQueueShort() Rule {
	return Rule{
		ID:     "tx-queue-short",
		Limits: []model.LimiterID{model.LocalQdisc},
		Doc:    "A short transmit queue drops packets of a fast sender's burst.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				length, ok := n.TxQueueLen.Get()
				if !ok || length >= 100 || n.Qdisc != "pfifo_fast" && n.Qdisc != "pfifo" || n.Speed.Or(0) < fastPort {
					return nil
				}
				return &model.Finding{
					Severity: Low, Title: "the transmit queue of " + n.Name + " is short",
					Observed: fmt.Sprintf("%s: %s with txqueuelen %d", n.Name, n.Qdisc, length),
					Fix:      "set txqueuelen of " + n.Name + " to 1000, its default",
					Source:   "ip-link(8); net/sched/sch_generic.c (DEFAULT_TX_QUEUE_LEN)",
				}
			})
		},
	}
}
