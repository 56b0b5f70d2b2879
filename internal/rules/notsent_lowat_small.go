package rules

import (
	"fmt"
	"strconv"

	"linerate/internal/model"
)

func notsentLowat() Rule {
	return Rule{
		ID:     "notsent-lowat-small",
		Limits: []model.LimiterID{model.SenderCPU},
		Doc:    "With a low limit of unsent data programs are woken to write small pieces: it costs context switches, but hardly any goodput.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			v, ok := sysctl(f, "tcp_notsent_lowat")
			n, err := strconv.ParseUint(v, 10, 32)
			if !ok || err != nil || n >= 65536 {
				return nil
			}
			return []model.Finding{{
				Severity: Info, Title: "senders are woken for small pieces",
				Observed: fmt.Sprintf("net.ipv4.tcp_notsent_lowat = %d bytes", n),
				Fix:      "leave it at its default, or 128 KiB and more on hosts that move bulk data",
				Source:   "Documentation/networking/ip-sysctl.rst (tcp_notsent_lowat)",
			}}
		},
	}
}
