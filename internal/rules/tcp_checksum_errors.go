package rules

import (
	"fmt"

	"linerate/internal/model"
)

func checksumErrors() Rule {
	return Rule{
		ID:     "tcp-checksum-errors",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "Segments arrive with a wrong TCP checksum although the checksum of their frames was right: memory or a device on the path damages data.",
		Counts: true,
		Check: func(f *model.Facts, c Context) []model.Finding {
			t := c.tally(f, 100, 1e-6, ofStack("Tcp.InSegs", "Tcp.InCsumErrors"))
			if t == nil {
				return nil
			}
			return []model.Finding{{
				Severity: t.severity(Low), Title: "data arrives damaged in frames with a right checksum",
				Observed: fmt.Sprintf("Tcp InCsumErrors %d of %d segments %s", t.bad, t.all, t.over(sinceBoot)),
				Fix:      "look for a device that rewrites packets, broken offloads (turn them off one at a time), or bad memory",
				Source:   "RFC 9293 section 3.1 (checksum); Stone and Partridge, SIGCOMM 2000",
			}}
		},
	}
}
