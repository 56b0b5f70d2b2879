package rules

import (
	"fmt"

	"linerate/internal/model"
)

func nfsTransfer() Rule {
	return Rule{
		ID:     "nfs-transfer-small",
		Limits: []model.LimiterID{model.NFSConcurrency},
		Doc:    "Small NFS transfers cost a request, and its round trip and CPU time, for every few KiB.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				size := min(o.number("rsize"), o.number("wsize"))
				if !isNFS(m) || size <= 0 || size > 128<<10 {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: m.Point + " moves small pieces",
					Observed: fmt.Sprintf("%s: rsize=%d wsize=%d", m.Point, o.number("rsize"), o.number("wsize")),
					Fix:      "take rsize and wsize out of the mount options: client and server then agree on the largest (1 MiB on Linux); if it stays small the server limits it",
					Source:   "nfs(5) (rsize, wsize)",
				}
				if size <= 32<<10 {
					out.Severity = Medium
				}
				return out
			})
		},
	}
}
