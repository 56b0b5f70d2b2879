package loop

import (
	"fmt"
	"net/netip"
	"time"

	"linerate/internal/explain"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// A host with very many connections tells some of them, and what all of them did as sums (watch.Sums). The
// goodput is right then; which limits the connections is not known.

// crowdEnd is an end of a path with the samples that may be judged; some: they do not tell all connections.
type crowdEnd struct {
	*liveEnd
	samples []model.Sample
	some    bool
}

// crowd judges a path of which at least one end does not tell all connections. If the other does, as a
// client of many does, it is judged by that one alone.
func (l *Live) crowd(key [2]int, a, b crowdEnd) watch.Judgement {
	if a.some && !b.some {
		a, b = b, a
	}
	if !a.some {
		return l.oneOf(key, a, b.liveEnd)
	}
	// What is counted is what arrived, or what the end counts that knows linerate's own connections.
	if sums := watch.Sums(a.samples, b.has); b.Target.Control > 0 || a.Target.Control == 0 && len(sums) > 0 && sums[0].Out > sums[0].In {
		a, b = b, a
	}
	j := l.crowdOf(key, a.liveEnd, a.samples, b.liveEnd)
	if peer := a.busiest(b.samples); peer.IsValid() {
		j.Conns = append(j.Conns, watch.Conns(b.Name, b.samples, peer)...)
	}
	return j
}

// oneOf judges a path to another host by the connections of one end.
func (l *Live) oneOf(key [2]int, a crowdEnd, b *liveEnd) watch.Judgement {
	samples := watch.Whole(a.samples)
	peer := b.busiest(samples)
	seen := watch.Conns(a.Name, samples, peer)
	var out, in unit.BitRate
	for _, k := range seen {
		out, in = out+k.Out, in+k.In
	}
	if !peer.IsValid() && len(b.Addrs) > 0 {
		return a.quiet(0)
	}
	if max(out, in) < moving {
		return a.quiet(len(seen))
	}
	c := explain.Watched(&explain.End{Host: a.Name, Facts: a.facts, Samples: samples, Peer: peer}, l.LineRate)
	c.OneEnd = true
	return l.judged(key, c, samples, seen)
}

// crowdOf judges a path by what one end sums up; other is its other end, nil: that is not watched.
func (l *Live) crowdOf(key [2]int, e *liveEnd, samples []model.Sample, other *liveEnd) watch.Judgement {
	if took := samples[len(samples)-1].At - samples[0].At; took < least {
		return watch.Judgement{Named: watch.Named{State: watch.Starting}, Why: "very many connections, summed up for " + took.Round(time.Second).String()}
	}
	serves := func(netip.Addr) bool { return true }
	if other != nil {
		serves = other.has
	}
	sums := watch.Sums(samples, serves)
	if len(sums) == 0 {
		return e.quiet(0)
	}
	s := sums[0]
	seen := watch.Conns(e.Name, samples, s.Peer)
	j := watch.Judgement{Named: watch.Named{State: watch.CannotTell}, Goodput: max(s.Out, s.In), Conns: seen, Unlisted: max(0, s.Conns-len(seen))}
	if j.Goodput < moving {
		j.Named, j.Goodput, j.Why = watch.Named{State: watch.Idle}, 0, e.quiet(s.Conns).Why
		return j
	}
	end := &explain.End{Host: e.Name, Facts: e.facts, Samples: samples, Peer: s.Peer}
	c := explain.Case{LineRate: l.LineRate, Passive: true, Sender: end, Goodput: model.Known(j.Goodput)}
	if s.In > s.Out {
		c.Sender, c.Receiver = nil, end
	}
	c.LineRate = l.lineRate(key, c)
	_, j.Ceiling = explain.Carried(c)
	if all := connsOf(samples); all > measure.CloseConns {
		j.Crowd, j.Why = true, fmt.Sprintf("%s has %s, more than can be judged one by one (%d): what is shown is what they move together", e.Name, unit.Count(all, "connection"), measure.CloseConns)
	}
	return j
}

// connsOf is how many connections a host has by its newest sample, to all peers.
func connsOf(samples []model.Sample) (n int) {
	for _, t := range samples[len(samples)-1].Totals {
		n += t.Conns
	}
	return n
}
