package rules

import (
	"fmt"
	"slices"

	"linerate/internal/model"
)

func iscsiSegment() Rule {
	return Rule{
		ID:     "iscsi-segment-small",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "Data segments of 8 KiB, the protocol default, cost a header and an interrupt for every few KiB.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return each(f.ISCSI, func(s model.ISCSISession) *model.Finding {
				small := func(c model.ISCSIConn) bool {
					return c.MaxRecv.Or(1<<20) <= 8192 || c.MaxSend.Or(1<<20) <= 8192
				}
				if i := slices.IndexFunc(s.Conns, small); i >= 0 {
					return &model.Finding{
						Severity: Low, Title: s.Name + " moves small segments",
						Observed: fmt.Sprintf("%s: largest data segment to receive %d, to send %d bytes", s.Name, s.Conns[i].MaxRecv.Or(0), s.Conns[i].MaxSend.Or(0)),
						Fix:      "set MaxRecvDataSegmentLength to 262144 at both ends",
						Source:   "RFC 7143 section 13.12",
					}
				}
				return nil
			})
		},
	}
}
