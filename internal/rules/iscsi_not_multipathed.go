package rules

import (
	"fmt"
	"slices"

	"linerate/internal/model"
)

func iscsiMultipath() Rule {
	return Rule{
		ID:     "iscsi-not-multipathed",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "Two paths to one target whose disks are not joined: each disk uses one path, and the same data appears twice.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for target, list := range byTarget(f) {
				disks, held := 0, false
				for _, d := range f.Disks {
					if slices.ContainsFunc(list, func(s model.ISCSISession) bool { return s.Name == d.Session }) {
						disks, held = disks+1, held || len(d.Holders) > 0
					}
				}
				services, ok := f.Services.Get()
				if len(list) < 2 || disks < 2 || held || !ok || slices.Contains(services, "multipathd") {
					continue
				}
				out = append(out, model.Finding{
					Severity: Medium, Title: "the paths to an iSCSI target are not joined",
					Observed: fmt.Sprintf("%s: %d sessions, %d disks, no multipathd and nothing built on the disks", target, len(list), disks),
					Fix:      "join them with multipathd, and use the disks of /dev/mapper; two mounts of one disk destroy it",
					Source:   "multipath.conf(5)",
				})
			}
			return sorted(out)
		},
	}
}
