package rules

import (
	"fmt"

	"linerate/internal/model"
)

// checksumErrors: segments arrive with a wrong checksum though their frames were whole: memory or a device on the way damages data.
func checksumErrors() Rule {
	return Rule{
		ID:  "tcp-checksum-errors",
		Doc: "Segments arrive with a wrong checksum though their frames were whole: memory or a device on the way damages data.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			count, ok := f.NetCounters.Get()
			if !ok {
				return nil
			}
			bad := count["Tcp.InCsumErrors"]
			if bad < 100 || float64(bad) < 1e-6*float64(count["Tcp.InSegs"]) {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "data arrives damaged in whole frames",
				Observed: fmt.Sprintf("Tcp InCsumErrors %d of %d segments", bad, count["Tcp.InSegs"]),
				Fix:      "look for a device that rewrites packets, broken offloads (turn them off one at a time), or bad memory",
				Source:   "RFC 9293 section 3.1; Stone and Partridge, SIGCOMM 2000",
			}}
		},
	}
}
