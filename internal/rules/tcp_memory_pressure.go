package rules

import (
	"fmt"

	"linerate/internal/model"
)

// memoryPressure: when all sockets together use too much memory the kernel shrinks every window.
func memoryPressure() Rule {
	return Rule{
		ID:  "tcp-memory-pressure",
		Doc: "When all sockets together use too much memory the kernel shrinks every window.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			count, ok := f.NetCounters.Get()
			if !ok {
				return nil
			}
			n := count["TcpExt.TCPMemoryPressures"]
			if n == 0 {
				return nil
			}
			limits, _ := sysctl(f, "tcp_mem")
			return []model.Finding{{
				Severity: Medium, Title: "TCP ran short of memory",
				Observed: fmt.Sprintf("TCPMemoryPressures %d since the host started; net.ipv4.tcp_mem = %q pages", n, limits),
				Fix:      "raise the second and third number of net.ipv4.tcp_mem; find what holds so many full sockets",
				Source:   "Documentation/networking/ip-sysctl.rst (tcp_mem)",
			}}
		},
	}
}
