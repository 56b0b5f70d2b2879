package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairBlackHole() PairRule {
	return PairRule{
		ID:     "pair-mtu-blackhole",
		Limits: []model.LimiterID{model.MTUBlackhole},
		Doc:    "Packets that both ends' MTUs allow vanish on the path without an ICMP message: small ones pass, so that connections open, but hang when data flows.",
		Check: func(p *model.Pair) []model.Finding {
			out := eachWay(p, func(from, to *model.PairEnd, c model.Crossing) *model.Finding {
				mtu, ok := c.PathMTU.Get()
				both := bothMTU(from, to, c)
				if !ok || both == 0 || mtu >= both || c.Told > 0 {
					return nil
				}
				return &model.Finding{
					Severity: High,
					Title:    fmt.Sprintf("packets above %d bytes vanish between %s and %s", mtu, from.Name, to.Name),
					Observed: fmt.Sprintf("%d at both ends; from %s (%s) to %s (%s) frames above %d vanish between them without an ICMP message", both, from.Name, from.Addr, to.Name, to.Addr, mtu),
					Fix:      fmt.Sprintf("let every switch port and hop between them carry %d bytes of IP packet (a switch counts 14-22 more), or set both ends to %d", both, mtu),
					Source:   "RFC 2923 section 2.1; RFC 8899 section 1",
				}
			})
			if len(out) == 2 && p.AToB.PathMTU == p.BToA.PathMTU { // one finding for both directions
				out[0].Observed += fmt.Sprintf("; from %s to %s likewise", p.B.Name, p.A.Name)
				return out[:1]
			}
			return out
		},
	}
}

// bothMTU is the largest packet that the sender's interface may send and the far interface may
// receive, in bytes; 0 if unknown.
func bothMTU(from, to *model.PairEnd, c model.Crossing) int {
	n := arrival(to, c)
	if n == nil || n.MTU <= 0 || c.Tried <= 0 {
		return 0
	}
	return min(c.Tried, n.MTU)
}

// arrival is the interface by which one direction comes in: the observed one, else the one that
// has the address. It is nil if several were observed.
func arrival(to *model.PairEnd, c model.Crossing) *model.NIC {
	if to.Facts == nil || len(c.ArrivedBy) > 1 {
		return nil
	}
	if len(c.ArrivedBy) == 1 {
		return nicNamed(to.Facts, c.ArrivedBy[0])
	}
	return meant(to)
}
