package rules

import (
	"fmt"

	"linerate/internal/model"
)

// manyRules is a tenth of the number that was measured to cost a fast host most of its packet
// rate: a router fell from 6 million packets per second to 250,000 with 1000 rules that each
// packet traversed (the second source below).
const manyRules = 100

func firewallMany() Rule {
	return Rule{
		ID:     "firewall-rules-many",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "The firewall checks each packet against its rules one after the other until one matches: with hundreds of rules a core spends its time there.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			in, out := passed(f.Firewall.Or(nil))
			n, way := in, "coming in"
			if out > in {
				n, way = out, "going out"
			}
			if n < manyRules || fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "each packet traverses many firewall rules",
				Observed: fmt.Sprintf("a packet %[2]s traverses at least %[1]d rules; those of chains that are jumped to are not counted", n, way),
				Fix:      "accept the storage network (its interface or subnet, or known connections) in the first rule; put lists of addresses into a set",
				Source:   "P. Sutter, Benchmarking nftables, developers.redhat.com 2017-04-11; Universitat de València, nftables vs pf (packets per second against rules); nft(8) (sets)",
			}}
		},
	}
}

// passed is how many rules a packet to this host, and one from it, traverses before a rule
// accepts established connections. Rules for forwarded, bridged and ARP packets do not count.
func passed(chains []model.FirewallChain) (in, out int) {
	for _, c := range chains {
		n := c.Rules
		if c.Before != nil {
			n = *c.Before + 1
		}
		if c.Family == "bridge" || c.Family == "arp" {
			continue
		}
		switch c.Hook {
		case "ingress", "prerouting", "input":
			in += n
		case "output", "postrouting", "egress":
			out += n
		case "": // a table of iptables: at most all of its rules
			in, out = in+n, out+n
		}
	}
	return in, out
}
