package rules

import (
	"linerate/internal/model"
)

func nfsSync() Rule {
	return Rule{
		ID:     "nfs-sync",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "On a sync mount every write waits for the server's disk.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				if !isNFS(m) || !o.has("sync") {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: "every write to " + m.Point + " waits for the server's disk",
					Observed: m.Point + ": mount option sync",
					Fix:      "leave sync out unless each write must be on disk at once: fsync and close still wait",
					Source:   bySystem(f, map[string]string{"": "nfs(5) (sync)", "freebsd": "mount(8) of FreeBSD (sync)", "macos": "mount(8) of macOS (sync)"}),
				}
			})
		},
	}
}
