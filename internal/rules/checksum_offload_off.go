package rules

import (
	"fmt"

	"linerate/internal/model"
)

func checksumOff() Rule {
	return Rule{
		ID:     "checksum-offload-off",
		Limits: []model.LimiterID{model.PacketCost},
		Doc:    "Without checksum offload a core reads every byte once more; without transmit checksum offload, segmentation offload does not work either.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				on, ok := n.Features.Get()
				if !ok || n.Speed.Or(0) < fastPort {
					return nil
				}
				rx, hasRx := on["rx-checksum"]
				tx, hasTx := on["tx-checksum-ip-generic"]
				v4, hasV4 := on["tx-checksum-ipv4"]
				out := &model.Finding{
					Severity: Low, Title: "a core computes the checksums of " + n.Name,
					Fix:    "turn on rx and tx checksum offload of " + n.Name,
					Source: "Documentation/networking/checksum-offloads.rst; net/core/dev.c (netdev_fix_features)",
				}
				switch {
				case (hasTx || hasV4) && !tx && !v4:
					out.Severity, out.Observed = Medium, fmt.Sprintf("%s (%s): no tx-checksum feature is on", n.Name, n.Speed.Value)
				case hasRx && !rx:
					out.Observed = fmt.Sprintf("%s (%s): rx-checksum is off", n.Name, n.Speed.Value)
				default:
					return nil
				}
				return out
			})
		},
	}
}
