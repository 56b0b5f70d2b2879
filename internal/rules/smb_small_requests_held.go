package rules

import (
	"fmt"
	"time"

	"linerate/internal/model"
)

// heldFrom is the round trip from which it matters that a small request waits for one more.
const heldFrom = 5 * time.Millisecond

func smbHeld() Rule {
	return Rule{
		ID:     "smb-small-requests-held",
		Limits: []model.LimiterID{model.RequestConcurrency},
		Doc:    "Linux's SMB client leaves Nagle's algorithm on: while data are under way to the server, the request for the next file may wait up to a round trip before it is sent.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				rtt, ok := m.MinRTT.Get()
				if !isSMB(m) || otherSystem(f) || m.Proto != "tcp" || !ok || rtt < heldFrom || o.has("tcpnodelay") || o.has("ro") {
					return nil
				}
				// Kernels before have no such option, and would refuse a mount that asks for it.
				if f.Kernel == "" || olderThan(f.Kernel, 6, 1) {
					return nil
				}
				return &model.Finding{
					Severity: Info, Title: "small requests of " + m.Point + " wait for data that are under way",
					Observed: fmt.Sprintf("%s: /proc/mounts shows no tcpnodelay (kernels before the updates of January 2023 never do), a round trip of %v", m.Point, rtt),
					Fix:      "where programs write many small files there: mount it at a second point first, with nosharesock,tcpnodelay, which a kernel without that option refuses, and try; only then unmount what this host has mounted of that server, and mount it with tcpnodelay",
					Source:   "fs/smb/client/connect.c of Linux (tcp_nodelay); RFC 896",
				}
			})
		},
	}
}
