package rules

import (
	"fmt"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

func nfsReadaheadBlocks() Rule {
	return Rule{
		ID:     "nfs-readahead-blocks",
		Limits: []model.LimiterID{model.NFSConcurrency},
		Doc:    "FreeBSD asks for a number of blocks ahead of what a program reads: on a path with delay a single reader then waits most of the time.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				block := unit.Bytes(max(o.number("rsize"), o.number("wsize"))) // of the buffer cache
				rtt, speed := m.MinRTT.Or(c.RTT), pathSpeed(f, c, m)
				if !isNFS(m) || f.OS != "freebsd" || !o.has("readahead") || block <= 0 || rtt <= 0 || speed <= 0 {
					return nil
				}
				ahead := o.number("readahead")
				flight := unit.Bytes(ahead+1) * block // with the block that is waited for
				bound := perRTT(flight, rtt)
				if *bound >= speed {
					return nil
				}
				return &model.Finding{
					Severity: Medium, Title: "one reader of " + m.Point + " cannot fill the path", Bound: bound,
					Observed: fmt.Sprintf("%s: readahead=%d, blocks of %s: at most %d × %s in flight for one reader, %s / %v", m.Point, ahead, block, ahead+1, block, flight, rtt),
					Fix:      fmt.Sprintf("mount %s with a larger readahead and larger blocks (vfs.maxbcachebuf), so that %s are in flight; raise vfs.nfs.iodmax with it", m.Point, size.InFlight(speed, rtt)),
					Source:   "mount_nfs(8) of FreeBSD (readahead); sys/fs/nfsclient/nfs_clbio.c (ncl_bioread)",
				}
			})
		},
	}
}
