package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// pairBDP is what must be in flight to fill the path, and false where rate or
// round trip is not known.
func pairBDP(p *model.Pair) (Context, bool) {
	rtt, ok := p.RTT.Get()
	rate, ok2 := p.Rate.Get()
	c := Context{LineRate: rate, RTT: rtt.Min}
	return c, ok && ok2 && c.BDP() > 0
}

// pairReceiveWindow: the window that an end can offer against the path as it was
// measured. The rules of one host judge its mounts' path.
func pairReceiveWindow() PairRule {
	return PairRule{
		ID:    "pair-receive-window-below-bdp",
		Doc:   "The largest receive window that a host can offer is smaller than the rate of the path times its measured round trip: one connection cannot fill it.",
		Check: windows("tcp_rmem", "offers its peer at most a window of about half of", "RFC 7323 section 1.1; net/ipv4/tcp_input.c; Documentation/networking/ip-sysctl.rst", 2),
	}
}

// windows compares the largest buffer of a kind with share × BDP: about half of
// a receive buffer is window.
func windows(name, does, source string, share unit.Bytes) func(p *model.Pair) []model.Finding {
	return func(p *model.Pair) []model.Finding {
		c, ok := pairBDP(p)
		if !ok {
			return nil
		}
		return eachWay(p, func(end, _ *model.PairEnd, _ model.Crossing) *model.Finding {
			if end.Facts == nil {
				return nil
			}
			_, most, ok := triple(end.Facts, name)
			bdp := c.BDP()
			if !ok || most >= share*bdp {
				return nil
			}
			found := &model.Finding{
				Severity: Medium, Host: end.Name,
				Title:    fmt.Sprintf("%s of %s may be too small for this path", name, end.Name),
				Observed: fmt.Sprintf("%s %s %s; %s at the measured %v need %s in flight", end.Name, does, most, c.LineRate, c.RTT, bdp),
				Bound:    perRTT(most, c.RTT),
				Fix:      fmt.Sprintf("raise the maximum of net.ipv4.%s on %s to at least %s", name, end.Name, share*bdp),
				Source:   source,
			}
			if most < bdp {
				found.Severity, found.Title = High, fmt.Sprintf("%s of %s is too small for this path", name, end.Name)
			}
			return found
		})
	}
}
