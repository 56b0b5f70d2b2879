package rules

import (
	"slices"

	"linerate/internal/model"
)

func iscsiDigest() Rule {
	return Rule{
		ID:     "iscsi-digests",
		Limits: []model.LimiterID{model.ReceiverCPU, model.SenderCPU},
		Doc:    "With digests a core computes a CRC over every byte of iSCSI: expensive without a CPU instruction for it, cheap with one. The CRC finds damage that TCP's checksum misses.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return each(f.ISCSI, func(s model.ISCSISession) *model.Finding {
				if !slices.ContainsFunc(s.Conns, func(c model.ISCSIConn) bool { return c.DataDigest.Or(false) }) {
					return nil
				}
				return &model.Finding{
					Severity: Info, Title: "a core checks each byte of " + s.Name,
					Observed: s.Name + ": DataDigest CRC32C",
					Fix:      "keep it where the data needs the protection; if a core is the limiter, set node.conn[0].iscsi.DataDigest to None",
					Source:   "RFC 7143 section 13.1",
				}
			})
		},
	}
}
