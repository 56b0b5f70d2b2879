package explain

import (
	"fmt"
	mathbits "math/bits"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

const (
	readAheadSetting = "linux.bdi.nfs_readahead"
	// aheadGrowth is by how much the read-ahead grows at least in one step: a
	// call takes longer than the round trip that its need is computed from.
	aheadGrowth = 4
	// aheadMost keeps what one reader may take of the client's memory small.
	aheadMost = 16 * unit.MiB
)

// moreAhead makes of "have more under way" the setting that does so, for one
// reader of an NFS mount whose slots would carry more than its read-ahead asks
// for: the read-ahead of the mount, large enough for what the path carries in a
// round trip. Otherwise the verdict comes back as it was.
func moreAhead(v model.Verdict, g Ground) model.Verdict {
	f := g.File
	if v.Limiter != model.NFSConcurrency || f == nil || f.Mount.Point == "" || !strings.HasPrefix(f.Mount.Type, "nfs") || f.ReadAhead <= 0 || v.Ceiling == nil || g.RTT <= 0 {
		return v
	}
	if rate, _ := least(Ground{RTT: g.RTT, File: &FileGround{Mount: f.Mount, Slots: f.Slots}}.calls()); rate != nil && float64(*rate) < severalMore*float64(v.Measured) {
		return v
	}
	need := unit.Bytes(float64(*v.Ceiling) / 8 * g.RTT.Seconds())
	to := min(aheadMost, max(aheadGrowth*f.ReadAhead, need))
	to = unit.KiB << mathbits.Len64(uint64((to-1)/unit.KiB)) // a power of two
	if to <= f.ReadAhead {
		return v
	}
	v.Fix = model.Fix{
		Kind: model.FixSetting, Setting: readAheadSetting, Target: "mount:" + f.Mount.Point, Host: g.Receiver.host(),
		From: fmt.Sprint(int64(f.ReadAhead / unit.KiB)), To: fmt.Sprint(int64(to / unit.KiB)), Advice: v.Fix.Advice,
	}
	if len(v.Causes) > 0 {
		v.Causes[0].Fix = v.Fix
	}
	return v
}

const (
	threadsSetting = "linux.nfsd.threads"
	// fewestThreads, threadsPerCPU and mostThreads are what a server that is short of
	// threads gets, as profile nfs-server says: each waits for a disk most of the time
	// (SFC, methodology; nfs.conf(5)).
	fewestThreads, threadsPerCPU, mostThreads = 64, 4, 256
)

// threadsFix gives the kernel's NFS server more threads; a server that has so many
// needs somebody who knows why they are not enough.
func (v *serverView) threadsFix(advice string) model.Fix {
	to := min(mostThreads, max(fewestThreads, threadsPerCPU*int64(v.cores())))
	if to <= v.threads {
		return operator(v.end.Host, advice)
	}
	return change(v.end.Host, threadsSetting, fmt.Sprint(v.threads), fmt.Sprint(to), advice)
}
