package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
)

// The severity is Info, since the facts do not show whether storage traffic reaches the rule.
func firewallQueues() Rule {
	return Rule{
		ID:     "firewall-queues-packets",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "A firewall rule queues packets to a program and waits for its verdict: each packet costs two context switches, and packets are dropped when the program cannot keep up.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var where []string
			for _, c := range f.Firewall.Or(nil) {
				if c.Queues && c.Hook != "forward" && c.Family != "bridge" && c.Family != "arp" {
					where = append(where, fmt.Sprintf("%s %s %s (%s)", c.Family, c.Table, c.Chain, c.Hook))
				}
			}
			if len(where) == 0 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "the firewall queues packets to a program",
				Observed: "a rule queues in " + strings.Join(where, ", ") + "; the facts do not show whether storage traffic matches it",
				Fix:      "accept the storage network in a rule before that one",
				Source:   "nft(8) (queue statement); iptables-extensions(8) (NFQUEUE)",
			}}
		},
	}
}
