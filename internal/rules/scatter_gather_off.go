package rules

import (
	"fmt"

	"linerate/internal/model"
)

func scatterGather() Rule {
	return Rule{
		ID:     "scatter-gather-off",
		Limits: []model.LimiterID{model.PacketCost},
		Doc:    "Without scatter-gather every frame is copied into one piece before it is sent, and segmentation offload does not work.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachPort(f, func(n model.NIC) *model.Finding {
				on, ok := n.Features.Get()
				sg, has := on["tx-scatter-gather"]
				if !ok || !has || sg || n.Speed.Or(0) < fastPort {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: n.Name + " copies every frame before it sends it",
					Observed: fmt.Sprintf("%s (%s): tx-scatter-gather is off", n.Name, n.Speed.Value),
					Fix:      "turn on sg of " + n.Name + " (ethtool -K)",
					Source:   "Documentation/networking/netdev-features.rst; net/core/dev.c (netdev_fix_features)",
				}
			})
		},
	}
}
