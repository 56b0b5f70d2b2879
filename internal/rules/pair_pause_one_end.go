package rules

import (
	"fmt"

	"linerate/internal/model"
)

func pairPause() PairRule {
	return PairRule{
		ID:     "pair-pause-one-end",
		Limits: []model.LimiterID{model.FlowControl, model.PathQueue},
		Doc:    "Ethernet flow control works at one end only: the switch waits for one host and drops packets for the other.",
		Check: func(p *model.Pair) []model.Finding {
			a, b := meant(&p.A), meant(&p.B)
			if a == nil || b == nil || !onLink(&p.A) || !onLink(&p.B) {
				return nil
			}
			x, ok := a.Pause.Get()
			y, ok2 := b.Pause.Get()
			if !ok || !ok2 || (x.Rx || x.Tx) == (y.Rx || y.Tx) {
				return nil
			}
			return []model.Finding{{
				Severity: Low,
				Title:    fmt.Sprintf("flow control is on at one of %s and %s", p.A.Name, p.B.Name),
				Observed: fmt.Sprintf("%s %s: receive %s, send %s; %s %s: receive %s, send %s", p.A.Name, a.Name, onOff(x.Rx), onOff(x.Tx), p.B.Name, b.Name, onOff(y.Rx), onOff(y.Tx)),
				Fix:      "decide for the storage network as a whole, hosts and switch ports; " + pauseBy(&p.A, a) + "; " + pauseBy(&p.B, b),
				Source:   "IEEE 802.3 annex 31B; ATTO, 10 Gigabit Ethernet Network Adapter Configuration Guide",
			}}
		},
	}
}

// pauseBy is what switches flow control on or off at an end.
func pauseBy(e *model.PairEnd, n *model.NIC) string {
	return "at " + e.Name + " by " + bySystem(e.Facts, map[string]string{
		"":        fmt.Sprintf("ethtool -A %s rx on tx on (or off)", n.Name),
		"illumos": fmt.Sprintf("dladm set-linkprop -p flowctrl=bi (or no) %s", n.Name),
		"freebsd": "the sysctl of its driver, such as dev.ix.N.fc=3 (or 0)",
		"macos":   fmt.Sprintf("its media option flow-control (networksetup -listValidMedia %s)", n.Name),
		"windows": fmt.Sprintf("linerate tune plan %s --set 'windows.adapter.flow_control@%s=3' (or 0)", e.Name, n.Name),
		"onefs":   "what its vendor's support names: linerate knows no command for it",
	})
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
