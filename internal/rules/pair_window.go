package rules

import (
	"fmt"

	"linerate/internal/model"
)

// The rules of one host judge the path of its mounts; this one judges the measured path.
func pairReceiveWindow() PairRule {
	return PairRule{
		ID:     "pair-receive-window-below-bdp",
		Limits: []model.LimiterID{model.ReceiverWindow},
		Doc:    "The largest receive window that a host can offer is smaller than the rate of the path times its measured round trip: one connection cannot fill it.",
		Check:  pairBuffers("tcp_rmem", receiveBufferSource, receiveSide),
	}
}

// pairBuffers compares one buffer of each end with the bandwidth-delay product of the path.
func pairBuffers(name, source string, side func(f *model.Facts) (buffer, bool)) func(p *model.Pair) []model.Finding {
	return func(p *model.Pair) []model.Finding {
		rtt, ok := p.RTT.Get()
		rate, ok2 := p.Rate.Get()
		c := Context{LineRate: rate, RTT: rtt.Min}
		if !ok || !ok2 || c.BDP() <= 0 {
			return nil
		}
		return eachWay(p, func(end, _ *model.PairEnd, _ model.Crossing) *model.Finding {
			if end.Facts == nil {
				return nil
			}
			b, ok := side(end.Facts)
			if !ok {
				return nil
			}
			found := b.against(c)
			if found == nil {
				return nil
			}
			found.Host, found.Source = end.Name, source
			found.Title = fmt.Sprintf("%s of %s %s", name, end.Name, found.Title)
			found.Observed = fmt.Sprintf("%s: net.ipv4.%s allows %s; the round trip is measured", end.Name, name, found.Observed)
			found.Fix = b.fix("net.ipv4."+name+" on "+end.Name, c.BDP())
			return found
		})
	}
}
