package rules

import (
	"fmt"

	"linerate/internal/model"
)

func iscsiOnePort() Rule {
	return Rule{
		ID:     "iscsi-one-port",
		Limits: []model.LimiterID{model.LinkRate},
		Doc:    "Several sessions to one target that all leave by one port carry no more than one session.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			var out []model.Finding
			for target, list := range byTarget(f) {
				local, portals := list[0].Conns[0].Local, map[string]bool{}
				same := true
				for _, s := range list {
					for _, c := range s.Conns {
						same = same && c.Local.IsValid() && c.Local == local
						portals[c.Portal.Addr().String()] = true
					}
				}
				n := nicWith(f, local)
				if !same || len(portals) < 2 || n == nil {
					continue
				}
				found := model.Finding{
					Severity: Low, Title: fmt.Sprintf("%d sessions to one target leave by one port", len(list)),
					Observed: fmt.Sprintf("%s: %d sessions to %d portals, all from %s on %s", target, len(list), len(portals), local, n.Name),
					Fix:      "give each portal's subnet an interface of its own, or bind sessions to interfaces with iscsiadm -m iface",
					Source:   "iscsiadm(8) (iface); Documentation of open-iscsi, section on multiple NICs; DELL, BP1057 (iSCSI test cases)",
				}
				if speed, ok := n.Speed.Get(); ok {
					found.Bound = &speed
				}
				out = append(out, found)
			}
			return sorted(out)
		},
	}
}
