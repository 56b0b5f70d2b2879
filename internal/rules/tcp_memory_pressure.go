package rules

import (
	"fmt"

	"linerate/internal/model"
)

func memoryPressure() Rule {
	return Rule{
		ID:     "tcp-memory-pressure",
		Limits: []model.LimiterID{model.ReceiverWindow, model.SendBuffer},
		Doc:    "When all sockets together use more memory than tcp_mem allows, the kernel lets no buffer grow.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 1, 0, ofStack("", "TcpExt.TCPMemoryPressures"))
			if t == nil {
				return nil
			}
			limits, _ := sysctl(f, "tcp_mem")
			out := model.Finding{
				Severity: Info, Title: "TCP ran short of memory",
				Observed: fmt.Sprintf("TCPMemoryPressures %d %s; net.ipv4.tcp_mem = %q pages", t.bad, t.over(sinceBoot), limits),
				Fix:      "raise the second and third number of net.ipv4.tcp_mem; find what holds so many full sockets",
				Source:   "tcp(7) (tcp_mem); Documentation/networking/ip-sysctl.rst (tcp_mem)",
			}
			if t.gap > 0 { // each event affects many packets
				out.Severity = Medium
			}
			return []model.Finding{out}
		},
	}
}
