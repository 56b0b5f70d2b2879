package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// fastPort is the speed from which the per-packet cost of a core matters.
const fastPort = unit.Gbit

// Sending needs either TSO or GSO, receiving GRO.
func segmentation() Rule {
	return Rule{
		ID:     "segmentation-offload-off",
		Limits: []model.LimiterID{model.PacketCost},
		Doc:    "With segmentation offload off every MTU-sized packet crosses the whole stack: a core is saturated long before a fast link is.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			var out []model.Finding
			for _, n := range f.NICs {
				speed := n.Speed.Or(c.LineRate)
				features, ok := n.Features.Get()
				if !ok || !n.Up || speed < fastPort {
					continue
				}
				// GRO is off by default on a veth: its peer passes whole super-packets
				// (drivers/net/veth.c).
				if off := singlePackets(features, n.Kind != "veth"); len(off) > 0 {
					out = append(out, segmentationFinding(n, speed, off))
				}
			}
			return out
		},
	}
}

// singlePackets names the missing features without which packets cross the stack one by one.
// received says whether packets arrive singly, so that GRO has something to merge.
func singlePackets(features map[string]bool, received bool) []string {
	var off []string
	tso, hasTSO := features["tx-tcp-segmentation"]
	gso, hasGSO := features["tx-generic-segmentation"]
	if hasTSO && hasGSO && !tso && !gso {
		off = append(off, "tx-tcp-segmentation", "tx-generic-segmentation")
	}
	if gro, has := features["rx-gro"]; has && received && !gro && !features["rx-lro"] && !features["rx-gro-hw"] {
		off = append(off, "rx-gro")
	}
	return off
}

func segmentationFinding(n model.NIC, speed unit.BitRate, off []string) model.Finding {
	severity := Medium
	if speed >= 5*unit.Gbit {
		severity = High
	}
	return model.Finding{
		Severity: severity,
		Title:    n.Name + "  handles packets one by one",
		Observed: fmt.Sprintf("%s (%s): %s off", n.Name, speed, strings.Join(off, ", ")),
		Fix:      fmt.Sprintf("turn on %s of %s", strings.Join(off, ", "), n.Name),
		Source:   "Documentation/networking/segmentation-offloads.rst",
	}
}
