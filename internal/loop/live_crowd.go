package loop

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/explain"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// A host with very many connections tells some of them, and what all of them did as sums (watch.Sums). Where
// those that are told moved what all did, as few of thousands do, the others are idle and a path is judged as any other. Else
// the goodput is known, but for what connections moved before they were first seen; which limits them is not.

// crowdEnd is an end of a path with the samples that may be judged.
type crowdEnd struct {
	*liveEnd
	samples []model.Sample // if some is set, as they came
	// some: the host tells some of its connections, and those do not account for what all moved over the window;
	// lately: they begin to.
	some, lately bool
	crowd        bool // it tells some
	all          int  // how many connections such a host has to the other
}

// endOf is an end, with what of its window may be judged of its connections to the peers that a function
// selects; nil: to the one with most traffic.
func (l *Live) endOf(e *liveEnd, serves func(netip.Addr) bool) crowdEnd {
	samples, some := watch.Alike(e.window.Samples(), least)
	out := crowdEnd{liveEnd: e, samples: samples, some: some, crowd: some}
	if !some {
		return out
	}
	any := func(netip.Addr) bool { return true }
	if serves != nil {
		any = serves
	}
	sums := watch.Sums(samples, any)
	if len(sums) == 0 {
		return out
	}
	busiest := sums[0]
	if serves == nil {
		serves = func(a netip.Addr) bool { return a == busiest.Peer }
	}
	told := watch.AccountOf(samples, serves, least)
	out.lately = told.Lately
	if told.Samples == nil || l.seldom(e) || max(busiest.Out, busiest.In) < moving && !stuck(told.Samples, serves) {
		return out
	}
	out.samples, out.some, out.all = told.Samples, false, busiest.Conns
	return out
}

// stuck reports whether a connection waits for the answer to what it sent again and again.
func stuck(samples []model.Sample, serves func(netip.Addr) bool) bool {
	return slices.ContainsFunc(traffic(samples), func(p peer) bool { return p.stuck && serves(p.addr) })
}

// seldom reports whether a host was found to have more connections than can be read as often as a verdict takes:
// that of a view in which somebody looks at all paths takes fewer samples than one that has to be worth a close look.
func (l *Live) seldom(e *liveEnd) bool {
	next, now := e.window.Next(), l.elapsed()
	if next >= slowInterval { // it was not to be read more often
		next = 0
	}
	if l.Looked == nil {
		return next > mostApart
	}
	if next.Seconds() > 1/closely {
		e.seldomAt, e.isSeldom = now, true
	}
	return e.isSeldom && now-e.seldomAt < lookAgain
}

// mostApart is the time between two samples of very many connections up to which they are judged.
const mostApart = 500 * time.Millisecond

// rest adds the connections to a judgement of a path that its ends do not tell one by one; all is how many there are
// where nothing moves.
func rest(j watch.Judgement, ends ...crowdEnd) watch.Judgement {
	all := 0
	for _, e := range ends {
		if e.crowd {
			all = max(all, e.all)
		}
	}
	switch {
	case all == 0:
		return j
	case j.State == watch.Idle:
		return ends[0].quiet(all)
	}
	j.Unlisted, j.Rest = max(0, all-once(j.Conns)), true
	return j
}

// together are the windows of two ends, which begin at the same time where one of them is a part, so that
// what they moved can be compared.
func together(a, b crowdEnd) (x, y []model.Sample) {
	if !a.crowd && !b.crowd {
		return a.samples, b.samples
	}
	from := max(a.samples[0].At, b.samples[0].At)
	x, y = watch.After(a.samples, from), watch.After(b.samples, from)
	for _, s := range [][]model.Sample{x, y} {
		if len(s) < 2 || s[len(s)-1].At-s[0].At < least/2 {
			return a.samples, b.samples
		}
	}
	return x, y
}

// crowd judges a path of which the connections that at least one end tells do not account for what all moved. If
// those of the other do, it is judged by that one alone: a client of many tells all.
func (l *Live) crowd(key [2]int, a, b crowdEnd) watch.Judgement {
	if a.some && !b.some {
		a, b = b, a
	}
	switch {
	case !a.some && b.Target.Control == 0 && a.tellsAllOf(b):
		return rest(l.oneOf(key, a, b.liveEnd), a)
	case !a.some: // it hides connections from us, or has linerate's own among them
		return l.crowdOf(key, b, a.liveEnd)
	}
	// What is counted is what arrived, or what the end counts that knows linerate's own connections.
	if sums := watch.Sums(a.samples, b.has); b.Target.Control > 0 || a.Target.Control == 0 && len(sums) > 0 && sums[0].Out > sums[0].In {
		a, b = b, a
	}
	j := l.crowdOf(key, a, b.liveEnd)
	if seen, peer := j.Conns, a.busiest(b.samples); peer.IsValid() && j.State == watch.CannotTell {
		j.Conns = append(j.Conns, watch.Conns(b.Name, b.samples, peer)...)
		j.Unlisted = max(0, j.Unlisted+len(seen)-once(j.Conns))
	}
	return j
}

// tellsAllOf reports whether what an end's connections to another moved is what that one sums up of its own to the
// end, but for the little by which two hosts' counts differ and what linerate's own connections from there move.
func (a crowdEnd) tellsAllOf(b crowdEnd) bool {
	const most, own = 0.9, 10 * unit.Mbit
	ofA, ofB := together(a, b)
	sums := watch.Sums(ofB, a.has)
	if len(sums) == 0 {
		return true
	}
	var told unit.BitRate
	all := max(sums[0].Out, sums[0].In)
	peer := b.busiest(ofA)
	hides := !peer.IsValid() && len(b.Addrs) > 0
	if !hides {
		out, in := both(watch.Conns(a.Name, ofA, peer))
		if told = out; sums[0].Out > sums[0].In {
			told = in
		}
	}
	if a.Target.Control > 0 {
		return told >= most*all || all-told < own
	}
	return !hides && told >= most*all
}

// both is what connections carried together, each way.
func both(conns []watch.Conn) (out, in unit.BitRate) {
	for _, k := range conns {
		out, in = out+k.Out, in+k.In
	}
	return out, in
}

// oneOf judges a path to another host by the connections of one end.
func (l *Live) oneOf(key [2]int, a crowdEnd, b *liveEnd) watch.Judgement {
	samples := a.samples
	if at, ok := watch.Turn(samples, b.has); ok {
		samples = watch.After(samples, at)
	}
	samples = watch.Whole(samples)
	peer := b.busiest(samples)
	seen := watch.Conns(a.Name, samples, peer)
	out, in := both(seen)
	if !peer.IsValid() && len(b.Addrs) > 0 {
		return a.quiet(a.all)
	}
	if max(out, in) < moving {
		return a.quiet(max(len(seen), a.all))
	}
	c := explain.Watched(&explain.End{Host: a.Name, Facts: a.facts, Samples: samples, Peer: peer}, l.LineRate)
	c.OneEnd = true
	return l.judged(key, c, samples, seen)
}

// crowdOf judges a path by what one end sums up; other is its other end, nil: that is not watched.
func (l *Live) crowdOf(key [2]int, e crowdEnd, other *liveEnd) watch.Judgement {
	samples := e.samples
	if took := samples[len(samples)-1].At - samples[0].At; took < least || e.lately && e.window.Covers() < least+time.Second {
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
		return e.quiet(s.Conns)
	}
	end := &explain.End{Host: e.Name, Facts: e.facts, Samples: samples, Peer: s.Peer}
	c := explain.Case{LineRate: l.LineRate, Passive: true, Sender: end, Goodput: model.Known(j.Goodput)}
	if s.In > s.Out {
		c.Sender, c.Receiver = nil, end
	}
	c.LineRate = l.lineRate(key, c)
	_, j.Ceiling = explain.Carried(c)
	j.Crowd, j.Why = l.untold(e)
	return j
}

// untold is why the connections that a host tells cannot be judged, and whether that stays so if they are
// looked at closely.
func (l *Live) untold(e crowdEnd) (stays bool, why string) {
	all := connsOf(e.samples)
	const together = "what is shown is what they move together"
	switch {
	case all <= measure.CloseConns: // all are told once somebody looks
		return false, ""
	case l.seldom(e.liveEnd):
		return true, fmt.Sprintf("%s has %s, more than can be read as often as a verdict takes: %s", e.Name, unit.Count(all, "connection"), together)
	case e.lately:
		return false, fmt.Sprintf("%s has %s, and which of them move data has been known for a moment", e.Name, unit.Count(all, "connection"))
	}
	return true, fmt.Sprintf("%s has %s, of which more move data than can be judged one by one (%d): %s", e.Name, unit.Count(all, "connection"), measure.MovingConns, together)
}

// connsOf is how many connections a host has by its newest sample, to all peers.
func connsOf(samples []model.Sample) (n int) {
	for _, t := range samples[len(samples)-1].Totals {
		n += t.Conns
	}
	return n
}
