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
					Fix: bySystem(f, map[string]string{
						"":        "take rsize and wsize out of the mount options: client and server then agree on the largest (1 MiB on Linux); if it stays small the server limits it",
						"freebsd": "take rsize and wsize out of the mount options: client and server then agree on the largest that both have. FreeBSD's own is vfs.maxbcachebuf in /boot/loader.conf (up to kern.maxphys), which wants a larger kern.ipc.maxsockbuf; nfsstat -m shows what is in effect",
						"macos":   "mount with a larger rsize and wsize, such as 131072, as far as the server grants it: nfsstat -m shows what is in effect",
						"illumos": "take rsize and wsize out of the mount options: client and server then agree on the largest that both have. illumos's own are nfs:nfs3_max_transfer_size, nfs3_bsize, nfs4_max_transfer_size and nfs4_bsize in /etc/system; nfsstat -m shows what is in effect",
					}),
					Source: mountManual(f, "rsize, wsize"),
				}
				if size <= 32<<10 {
					out.Severity = Medium
				}
				return out
			})
		},
	}
}
