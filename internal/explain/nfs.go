package explain

import (
	"time"

	"linerate/internal/model"
)

const (
	// nfsOps: fewer calls than this carry no mean worth judging.
	nfsOps = 10
	// slotWait: share of a call's life spent before it is sent.
	slotWait = 0.30
	// serverShare: share of a call's life that neither the round trip nor
	// the wire explains.
	serverShare = 0.50
	// netShare: share of a call's time after sending that they do explain.
	netShare = 0.60
)

// nfsView is the busiest operation of the watched mount, as means per call.
type nfsView struct {
	op               string
	calls            float64
	size             float64 // bytes a call carries
	queue, rtt, life float64 // seconds: before sending, sent to answered, all
	inflight         float64 // calls under way on average
	slots            int64
	n                int
}

// judgeNFS says why an NFS client leaves its connections idle. It speaks up
// only where the verdict v on the connections names no limiter of the network.
func judgeNFS(c Case, v model.Verdict, ce CeilingResult) *model.Verdict {
	switch v.Limiter {
	case model.ApplicationSource, model.Undetermined, model.StartUp:
	default:
		return nil
	}
	e, n := nfsEnd(c)
	if n == nil {
		return nil
	}
	net := netTime(c)
	wire := 0.0
	if ce.Rate != nil && *ce.Rate > 0 {
		wire = n.size * 8 / float64(*ce.Rate)
	}
	f := n.judge(e, net, wire)
	if f == nil {
		return nil
	}
	out := model.Verdict{Limiter: f.id, Where: limiter(f.id).Where, Host: f.host, Evidence: f.evidence, Alternatives: f.alts,
		Ceiling: v.Ceiling, ShareOfCeiling: v.ShareOfCeiling, Measured: v.Measured, CouldNotSee: v.CouldNotSee, Notes: v.Notes}
	out.Confidence = min(0.6+0.35*f.margin, f.cap)
	out.Fix = operator(f.host, nfsAdvice(f.id))
	out.ExpectedGain = nfsGain(v)
	return &out
}

// judge weighs where a call's life goes. net is the network round trip, wire
// the time a call's data takes at the ceiling, in seconds; net 0 is unknown.
func (n *nfsView) judge(e *End, net, wire float64) *finding {
	server := n.rtt - net - wire
	f := &finding{host: e.Host, cap: 0.7}
	switch {
	case n.queue >= slotWait*n.life:
		f.id, f.margin = model.NFSConcurrency, over(n.queue/n.life, slotWait, 0.8)
		f.say(e.Host, "nfs_queue_share", ratio(n.queue, n.life), "ratio", n.n, "%s calls wait %s of their life for a slot (%.1f under way, %d slots)", n.op, pct(n.queue/n.life), n.inflight, n.slots)
		f.or(model.ServerTime, "mount with more slots or connections (nconnect): if the rate stays, the server is the limit")
	case server >= serverShare*n.life:
		f.id, f.host, f.margin = model.ServerTime, "", over(server/n.life, serverShare, 0.9)
		f.say(e.Host, "nfs_server_share", ratio(server, n.life), "ratio", n.n, "a %s takes %.3g ms of which network and wire explain %.3g ms: the rest is the server's", n.op, n.rtt*1e3, (net+wire)*1e3)
		f.or(model.PathLoss, "log in at the server: its tcp_info tells whether its sending is held back")
		if net == 0 {
			f.cap = 0.5
		}
	case net+wire >= netShare*n.rtt && net > wire:
		f.id, f.margin = model.NFSConcurrency, over((net+wire)/n.rtt, netShare, 0.95)
		f.say(e.Host, "nfs_inflight", n.inflight, "calls", n.n, "only %.1f %s calls of %s are under way, each a round trip of %.3g ms", n.inflight, n.op, size(n.size), net*1e3)
		f.or(model.ApplicationSource, "copy with several files or readers at once: if the rate rises, the application asked for too little")
	default:
		return nil
	}
	f.say(e.Host, "nfs_call_ms", n.rtt*1e3, "ms", n.n, "%.0f %s calls, %.3g ms each after sending", n.calls, n.op, n.rtt*1e3)
	return f
}

func nfsAdvice(id model.LimiterID) string {
	if id == model.ServerTime {
		return "look at the server: its disk, its load, its number of threads"
	}
	return "have more data under way: nconnect, larger rsize and wsize, more read-ahead, more slots, or several copies at once"
}

func nfsGain(v model.Verdict) *model.Gain {
	if v.Ceiling == nil || *v.Ceiling <= v.Measured {
		return nil
	}
	return &model.Gain{Low: v.Measured, High: *v.Ceiling, Why: "the ceiling of the link; how near it comes depends on what is done"}
}

// nfsEnd is the end that has the mount, and its busiest operation.
func nfsEnd(c Case) (*End, *nfsView) {
	for _, e := range []*End{c.Sender, c.Receiver} {
		if e == nil {
			continue
		}
		if v := viewNFS(e.Samples); v != nil {
			return e, v
		}
	}
	return nil, nil
}

// netTime is the minimum round trip of the connections in seconds, 0 unknown.
func netTime(c Case) float64 {
	var best time.Duration
	for _, f := range flows(c) {
		best = lower(best, f.minRTT())
	}
	return best.Seconds()
}

func viewNFS(all []model.Sample) *nfsView {
	var first, last *model.NFSCount
	var from, to time.Duration
	n := 0
	for _, s := range all {
		if s.NFS == nil {
			continue
		}
		if first == nil {
			first, from = s.NFS, s.At
		}
		last, to = s.NFS, s.At
		n++
	}
	if n < 2 || to <= from {
		return nil
	}
	var best *nfsView
	for _, op := range []string{"READ", "WRITE"} {
		v := nfsBetween(op, first.Ops[op], last.Ops[op], (to - from).Seconds())
		if v != nil && (best == nil || v.calls*v.size > best.calls*best.size) {
			v.slots, v.n = last.MaxSlots, n
			best = v
		}
	}
	return best
}

// nfsBetween takes the means of one operation; nil when it was hardly used or
// its counters went backwards (mounted anew).
func nfsBetween(op string, a, b model.NFSOp, wall float64) *nfsView {
	calls := float64(b.Ops - a.Ops)
	mean := func(x, y time.Duration) float64 { return (y - x).Seconds() / calls }
	v := &nfsView{op: op, calls: calls, queue: mean(a.Queue, b.Queue), rtt: mean(a.RTT, b.RTT), life: mean(a.Execute, b.Execute)}
	v.size = float64(b.BytesSent-a.BytesSent+b.BytesRecv-a.BytesRecv) / calls
	v.inflight = (b.RTT - a.RTT).Seconds() / wall
	if calls < nfsOps || v.queue < 0 || v.rtt <= 0 || v.life <= 0 || v.size <= 0 {
		return nil
	}
	return v
}
