package rules

import (
	"fmt"

	"linerate/internal/model"
)

func nfsdThreads() Rule {
	return Rule{
		ID:     "nfsd-threads-few",
		Limits: []model.LimiterID{model.ServerTime},
		Doc:    "The NFS server processes as many requests at once as it has threads; the default of eight dates from the time of slower disks and ports.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			d, ok := f.NFSD.Get()
			if !ok || d.Threads > 8 || d.Threads > 4 && fastest(f) < veryFast {
				return nil
			}
			return []model.Finding{{
				Severity: Low, Title: "the NFS server has few threads",
				Observed: fmt.Sprintf("%d nfsd threads, %d CPUs", d.Threads, len(f.CPUs)),
				Fix:      "raise threads in /etc/nfs.conf, to 64 or so on a fast port: each waits for a disk most of the time",
				Source:   "nfsd(8); nfs.conf(5)",
			}}
		},
	}
}
