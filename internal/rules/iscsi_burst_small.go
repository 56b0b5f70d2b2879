package rules

import (
	"fmt"

	"linerate/internal/model"
)

func iscsiBurst() Rule {
	return Rule{
		ID:     "iscsi-burst-small",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "With a small MaxBurstLength the target requests the data of a write in many pieces, each of which costs a round trip.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return each(f.ISCSI, func(s model.ISCSISession) *model.Finding {
				if n, ok := s.MaxBurst.Get(); ok && n > 0 && n < 65536 {
					return &model.Finding{
						Severity: Low, Title: "writes over " + s.Name + " go in small bursts",
						Observed: fmt.Sprintf("%s: MaxBurstLength %d", s.Name, n),
						Fix:      "raise MaxBurstLength to 262144, its default, or more at both ends",
						Source:   "RFC 7143 section 13.13",
					}
				}
				return nil
			})
		},
	}
}
