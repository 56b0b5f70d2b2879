package rules

import (
	"fmt"

	"linerate/internal/model"
)

func nconnectLost() Rule {
	return Rule{
		ID:     "nconnect-not-in-effect",
		Limits: []model.LimiterID{model.ReceiverWindow, model.ReceiverCPU},
		Doc:    "A mount shares the connections of the first mount of that server: nconnect given to a later one does nothing.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				// The kernel prints the number of connections of the shared client; what this
				// mount asked for is only in fstab.
				shown, asked := int(o.number("nconnect")), m.Asked.Or(0)
				want, have := max(shown, asked), m.Conns.Or(0)
				if !isNFS(m) || want < 2 || have < 1 || have >= want {
					return nil
				}
				out := &model.Finding{
					Severity: Medium, Title: fmt.Sprintf("%s has %d of %d connections", m.Point, have, want),
					Observed: fmt.Sprintf("%s: nconnect=%d%s, but %d TCP connections to %s port %d", m.Point, want, inFstab(asked > shown), have, m.Server, m.Port),
					Fix:      "unmount all mounts of this server, then mount the first with nconnect",
					Source:   "nfs(5) (nconnect); fs/nfs/client.c (nfs_match_client shares one)",
				}
				if m.Type == "nfs" {
					out.Severity = Low
					out.Observed += " (version 3 closes idle ones)"
				}
				return out
			})
		},
	}
}

// inFstab says that the requested value is in fstab, which the kernel does not show.
func inFstab(only bool) string {
	if only {
		return " in /etc/fstab"
	}
	return ""
}
