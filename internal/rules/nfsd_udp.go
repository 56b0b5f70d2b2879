package rules

import (
	"fmt"

	"linerate/internal/model"
)

func nfsdUDP() Rule {
	return Rule{
		ID:     "nfsd-udp",
		Limits: []model.LimiterID{model.PathLoss},
		Doc:    "Clients reach this NFS server over UDP, which loses whole requests with one fragment.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			d, ok := f.NFSD.Get()
			if !ok || d.UDP < 10000 || d.UDP*10 < d.TCP {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "clients use NFS over UDP",
				Observed: fmt.Sprintf("%d packets over UDP, %d over TCP", d.UDP, d.TCP),
				Fix:      "turn udp off in /etc/nfs.conf, and mount with proto=tcp",
				Source:   "nfs(5) (using NFS over UDP on high-speed links)",
			}}
		},
	}
}
