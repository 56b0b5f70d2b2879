package rules

import (
	"linerate/internal/model"
)

func iscsiR2T() Rule {
	return Rule{
		ID:     "iscsi-write-round-trip",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "Every write waits for the target's permission to send (R2T), which costs one more round trip.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.ISCSI, func(s model.ISCSISession) *model.Finding {
				if s.InitialR2T.Or(false) && !s.Immediate.Or(true) {
					return &model.Finding{
						Severity: Low, Title: "writes over " + s.Name + " wait one more round trip",
						Observed: s.Name + ": InitialR2T Yes, ImmediateData No",
						Fix:      "set InitialR2T to No and ImmediateData to Yes at both ends",
						Source:   "RFC 7143 sections 13.10 and 13.11",
					}
				}
				return nil
			})
		},
	}
}
