package rules

import (
	"fmt"

	"linerate/internal/model"
)

func nfsUDP() Rule {
	return Rule{
		ID:     "nfs-over-udp",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "NFS over UDP loses a whole request with one fragment, and has no congestion control.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				if !isNFS(m) || m.Proto != "udp" {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: m.Point + " is mounted over UDP",
					Observed: fmt.Sprintf("%s: proto=udp, rsize %d", m.Point, o.number("rsize")),
					Fix:      "mount " + m.Point + " with " + bySystem(f, map[string]string{"": "proto=tcp", "freebsd": "tcp", "macos": "tcp", "illumos": "proto=tcp"}),
					Source:   bySystem(f, map[string]string{"": "nfs(5) (using NFS over UDP on high-speed links)", "freebsd": "mount_nfs(8) of FreeBSD (udp)", "macos": "mount_nfs(8) of macOS (udp)", "illumos": "mount_nfs(8) of illumos (proto)"}) + "; RFC 8900",
				}
			})
		},
	}
}
