package rules

import (
	"fmt"

	"linerate/internal/model"
)

func sendBuffer() Rule {
	return Rule{
		ID:     "send-buffer-below-bdp",
		Limits: []model.LimiterID{model.SendBuffer},
		Doc:    "The largest TCP send buffer is smaller than rate × RTT: as a sender this host cannot keep enough in flight.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			b, ok := sendSide(f)
			if !ok {
				return nil
			}
			found := b.against(c)
			if found == nil {
				return nil
			}
			found.Title = "the send buffer " + found.Title
			found.Observed = fmt.Sprintf("net.ipv4.tcp_wmem allows %s", found.Observed)
			found.Fix = b.fix("net.ipv4.tcp_wmem", c.BDP())
			found.Source = "net/ipv4/tcp_input.c (tcp_sndbuf_expand); Documentation/networking/ip-sysctl.rst"
			return []model.Finding{*found}
		},
	}
}
