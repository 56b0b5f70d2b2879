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

// The samples of a host with very many connections list some of them, and have sums of what all of
// them moved (watch.Sums). If the listed ones moved as much as all did, the others are idle, and
// the path is judged as any other. If not, the goodput is known from the sums, except for what
// connections moved before they were first seen; what limits them is not known.

// crowdEnd is an end of a path with the samples that may be judged.
type crowdEnd struct {
	*liveEnd
	other   *liveEnd       // where the path leads; nil: to peers that are not watched
	samples []model.Sample // if some is set, with sums that have to be used instead of connections
	// some: the samples list some of the host's connections, and these did not move what all moved.
	// lately: in the newest samples they did.
	some, lately bool
	crowd        bool // the samples list some of the connections
	all          int  // how many connections such a host has to the other end
}

// endOf is an end with the part of its window in which its connections to another end can be
// judged; other nil: those to the peer with most traffic.
func (l *Live) endOf(e, other *liveEnd) crowdEnd {
	samples, some := watch.Alike(e.window.Samples(), least)
	out := crowdEnd{liveEnd: e, other: other, samples: samples, some: some, crowd: some}
	if !some {
		return out
	}
	var told watch.Account
	var all []watch.Sum
	if other != nil {
		told = watch.AccountOf(samples, other.has, least)
		all = watch.Sums(told.Samples, other.has)
	} else {
		told, all, out.samples = ofBusiest(samples)
	}
	out.lately = told.Lately
	switch {
	case told.Samples == nil, len(all) == 0, l.seldom(e):
		return out
	case other == nil && max(all[0].Out, all[0].In) < moving && !stuck(told.Samples, all[0].Peer):
		return out // nothing moves: one of so many peers that does not answer is no verdict of the host
	}
	out.samples, out.some, out.all = told.Samples, false, all[0].Conns
	return out
}

// stuck reports whether a connection to a peer waits for the answer to what it sent again and again.
func stuck(samples []model.Sample, to netip.Addr) bool {
	return slices.ContainsFunc(traffic(samples), func(p peer) bool { return p.stuck && p.addr == to })
}

// serves reports whether an address is that of a peer to which the path leads.
func (e crowdEnd) serves(a netip.Addr) bool { return e.other == nil || e.other.has(a) }

// ofBusiest compares what the listed connections to the busiest peer moved with all, the sums of
// what all moved. The peer has to be the busiest in the very samples that are judged: one that was
// the busiest only before them says nothing of what goes on now. So part, the newest samples, is
// shortened until that is so.
func ofBusiest(samples []model.Sample) (told watch.Account, all []watch.Sum, part []model.Sample) {
	every := func(netip.Addr) bool { return true }
	for part = samples; ; {
		all = watch.Sums(part, every)
		if len(all) == 0 {
			return watch.Account{}, nil, part
		}
		told = watch.AccountOf(part, func(a netip.Addr) bool { return a == all[0].Peer }, least)
		judged := told.Samples
		if at, ok := watch.Turn(judged, every); ok {
			judged = watch.After(judged, at)
		}
		if now := watch.Sums(judged, every); len(now) == 0 || now[0].Peer == all[0].Peer {
			return told, all, part
		}
		part = part[len(part)-len(judged):]
	}
}

// seldom reports whether a host has so many connections that it samples them too seldom for a
// verdict. If somebody looks at all paths, fewer samples are enough than for a close look at one
// path.
func (l *Live) seldom(e *liveEnd) bool {
	next, now := e.window.Next(), l.elapsed()
	if next >= slowInterval { // it was asked for no more
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

// mostApart is the longest time between two samples of very many connections with which they are
// judged.
const mostApart = 500 * time.Millisecond

// rest adds to a judgement how many connections the ends have besides those that are listed.
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

// together are the windows of two ends. If one of them is a part of a window, both begin at the
// same time, so that what they moved can be compared.
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

// telling are the ends of a path by whose connections it can be judged: both, or the one end that
// lists all connections of the other to it, such as a client of a busy server. None: there are only
// sums.
func telling(a, b crowdEnd) []crowdEnd {
	switch {
	case !a.some && !b.some:
		return []crowdEnd{a, b}
	case !a.some && b.Target.Control == 0 && a.tellsAllOf(b):
		return []crowdEnd{a}
	case !b.some && a.Target.Control == 0 && b.tellsAllOf(a):
		return []crowdEnd{b}
	}
	return nil
}

// crowd judges a path by the sums of one end, because the listed connections do not account for
// what all moved.
func (l *Live) crowd(key [2]int, a, b crowdEnd) watch.Judgement {
	switch {
	case !a.some: // some of its connections are hidden from us, or linerate's own are among them
		return l.crowdOf(key, b)
	case !b.some:
		return l.crowdOf(key, a)
	}
	// The receiver's sums count what arrived. But an end that leaves out linerate's own connections
	// is better.
	if sums := watch.Sums(a.samples, b.has); b.Target.Control > 0 || a.Target.Control == 0 && len(sums) > 0 && sums[0].Out > sums[0].In {
		a, b = b, a
	}
	j := l.crowdOf(key, a)
	if seen, peer := j.Conns, a.busiest(b.samples); peer.IsValid() && j.State == watch.CannotTell {
		j.Conns = append(j.Conns, watch.Conns(b.Name, b.samples, peer)...)
		j.Unlisted = max(0, j.Unlisted+len(seen)-once(j.Conns))
	}
	return j
}

// tellsAllOf reports whether a's connections to b moved what b sums up of its connections to a. It
// allows for the small difference between the counts of two hosts, and for linerate's own
// connections.
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

// both is what connections carried together, in each direction.
func both(conns []watch.Conn) (out, in unit.BitRate) {
	for _, k := range conns {
		out, in = out+k.Out, in+k.In
	}
	return out, in
}

// crowdOf judges a path by the sums of one end: it knows the goodput, and no limiter.
func (l *Live) crowdOf(key [2]int, e crowdEnd) watch.Judgement {
	samples := e.samples
	if took := samples[len(samples)-1].At - samples[0].At; took < least || e.lately && e.window.Covers() < least+time.Second {
		return watch.Judgement{Named: watch.Named{State: watch.Starting}, Why: "very many connections, summed up for " + took.Round(time.Second).String()}
	}
	sums := watch.Sums(samples, e.serves)
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

// untold is why the listed connections of a host cannot be judged, and whether that stays so in a
// close look.
func (l *Live) untold(e crowdEnd) (stays bool, why string) {
	all := connsOf(e.samples)
	const together = "what is shown is what they move together"
	switch {
	case all <= measure.CloseConns: // a close look lists all of them
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
