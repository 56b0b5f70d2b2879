package explain

import "linerate/internal/model"

// words are a protocol's own, for evidence and advice.
type words struct {
	calls       string // what it calls its requests
	metric      string // prefix of machine names
	concurrency model.LimiterID
	more        []string // what puts more of them under way
	moreProbe   string
}

func nfsWords() words {
	return words{"calls", "nfs", model.NFSConcurrency,
		[]string{"nconnect", "larger rsize and wsize", "more slots", "several copies at once"},
		"mount with more slots or connections (nconnect)"}
}

func smbWords() words {
	return words{"requests", "smb", model.RequestConcurrency,
		[]string{"larger rsize and wsize", "multichannel with max_channels", "several copies at once"},
		"copy several files at once"}
}

func diskWords() words {
	return words{"commands", "disk", model.RequestConcurrency,
		[]string{"a deeper queue (node.session.queue_depth)", "larger requests (max_sectors_kb)", "several copies at once"},
		"raise queue_depth and max_sectors_kb"}
}

// viewRequests is viewNFS for SMB shares and disks, whose requests the kernel times as
// a whole. Where the queue depth of a disk is known, Little's law splits that time:
// what exceeds the depth was spent waiting for a place in the queue.
func viewRequests(all []model.Sample) *nfsView {
	first, last, wall, n := counted(all, func(s model.Sample) *model.RequestCount { return s.Requests })
	if !(wall > 0) {
		return nil
	}
	read, write := requestsBetween(first.Read, last.Read, wall), requestsBetween(first.Write, last.Write, wall)
	best := read
	if read == nil || write != nil && write.calls*write.size > read.calls*read.size {
		best = write
	}
	if best == nil {
		return nil
	}
	best.op, best.kind, best.n = "WRITE", smbWords(), n
	best.waits, best.unasked = unknown(), unknown()
	if best == read {
		best.op = "READ"
	}
	for _, v := range []*nfsView{read, write} {
		if v != nil {
			best.asked += v.inflight
		}
	}
	if last.Of == model.OfDisk {
		best.kind = diskWords()
		best.queueFor(last.Depth, wall)
	}
	return best
}

// requestsBetween takes the means of one direction; nil when it was hardly used
// or its counters went backwards.
func requestsBetween(a, b model.RequestOp, wall float64) *nfsView {
	calls := float64(b.Ops - a.Ops)
	v := &nfsView{calls: calls, size: float64(b.Bytes-a.Bytes) / calls, life: (b.Time - a.Time).Seconds() / calls}
	v.rtt, v.inflight = v.life, (b.Time-a.Time).Seconds()/wall
	if calls < nfsOps || v.life <= 0 || v.size <= 0 {
		return nil
	}
	return v
}

// queueFor splits a request's life by the depth of its device.
func (v *nfsView) queueFor(depth int64, wall float64) {
	v.slots = depth
	if depth <= 0 || v.inflight <= float64(depth) {
		return
	}
	v.inflight = float64(depth)
	v.rtt = v.inflight * wall / v.calls
	v.queue = v.life - v.rtt
}
