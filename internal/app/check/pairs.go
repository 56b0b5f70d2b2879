package check

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/probe"
	"linerate/internal/reach"
	"linerate/internal/report"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// pairs looks at the way between each two of the hosts that could be looked at,
// one pair after the other so that probes do not meet each other.
func (w work) pairs(ctx context.Context, seen []looked) []report.Pair {
	var out []report.Pair
	for i := range seen {
		for j := range seen[i+1:] {
			a, b := &seen[i], &seen[i+1+j]
			if a.err == nil && b.err == nil {
				out = append(out, w.pair(ctx, a, b))
			}
		}
	}
	return out
}

// pair finds the path between two hosts, probes it and applies the pair rules.
func (w work) pair(ctx context.Context, a, b *looked) report.Pair {
	out := report.Pair{A: a.as, B: b.as, Findings: []report.CheckFinding{}, CouldNotSee: []model.Blind{}}
	ends, err := choosePath(ctx, a, b)
	if err != nil {
		out.CouldNotSee = append(out.CouldNotSee, model.Blind{What: "the path between them", WouldShow: "its MTU, round trip and routes", How: failure.FirstLine(err)})
		return out
	}
	out.AInterface, out.BInterface, out.AAddress, out.BAddress = ends.A, ends.B, ends.AAddr.String(), ends.BAddr.String()
	if !a.foreign && !b.foreign {
		w.p.Say("probing %s (%s) ↔ %s (%s) with some UDP datagrams", a.as, ends.AAddr, b.as, ends.BAddr)
	}
	r, err := w.probePath(ctx, a, b, ends)
	if err != nil {
		what := "what probes would show"
		if r.Load.Datagrams > 0 {
			what = "the rest of the probes"
		}
		out.CouldNotSee = append(out.CouldNotSee, model.Blind{What: what, WouldShow: "the path's MTU, round trip and routes", How: failure.FirstLine(err)})
	}
	m := pairFacts(a, b, ends, r)
	m.Rate = w.pairRate(ctx, a, b, ends)
	fillPair(&out, m, r, err == nil)
	return out
}

// choosePath chooses the data addresses: those that were stated (a lab's), else
// those of the fastest network that both are in, else what the second's name
// resolves to.
func choosePath(ctx context.Context, a, b *looked) (rules.Ends, error) {
	if own := addresses(a.facts); len(own) > 0 && slices.Equal(own, addresses(b.facts)) {
		return rules.Ends{}, fmt.Errorf("%s and %s have the same addresses: two names of one host", a.as, b.as)
	}
	ends, ok := rules.MeantPath(a.facts, b.facts, stated(a), stated(b))
	if ok {
		return ends, nil
	}
	var err error
	if ends.BAddr, err = ownAddress(ctx, b); err != nil {
		return ends, err
	}
	if slices.Contains(addresses(a.facts), ends.BAddr) {
		return ends, fmt.Errorf("%s and %s both have %s: two names of one host, or one address given twice", a.as, b.as, ends.BAddr)
	}
	if ends.AAddr, err = reach.Source(a.facts, ends.BAddr); err != nil {
		return ends, fmt.Errorf("find the way from %s: %w", a.as, err)
	}
	ends.A, ends.B = ownerOf(a.facts, ends.AAddr), ownerOf(b.facts, ends.BAddr)
	return ends, nil
}

func stated(l *looked) []netip.Addr {
	if l.agent == nil {
		return nil
	}
	return l.agent.Data()
}

// ownAddress is the data address of a host that shares no network with another:
// the stated one, else the one by which it was named.
func ownAddress(ctx context.Context, l *looked) (netip.Addr, error) {
	own := addresses(l.facts)
	candidates := stated(l)
	if len(candidates) == 0 && !reach.IsHere(l.name) && l.name.Reach != host.Site {
		found, err := kernel.Resolve(ctx, l.name.Host)
		if err != nil {
			return netip.Addr{}, fmt.Errorf("find the data address of %s: %w", l.as, err)
		}
		candidates = found
	}
	if len(candidates) == 0 {
		candidates = own
	}
	for _, a := range candidates {
		if slices.Contains(own, a) && !a.IsLoopback() && !a.IsLinkLocalUnicast() {
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("find the data address of %s: it has no network in common with the other, and none of its own addresses is %v", l.as, candidates)
}

func addresses(f *model.Facts) []netip.Addr {
	var out []netip.Addr
	for _, n := range f.NICs {
		for _, p := range n.Addrs {
			out = append(out, p.Addr())
		}
	}
	return out
}

// ownerOf is the interface that has an address; empty for none.
func ownerOf(f *model.Facts, a netip.Addr) string {
	for _, n := range f.NICs {
		if slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return p.Addr() == a }) {
			return n.Name
		}
	}
	return ""
}

// probePath probes from both ends. This host gets an agent for that.
func (w work) probePath(ctx context.Context, a, b *looked, ends rules.Ends) (probe.Result, error) {
	for _, l := range []*looked{a, b} {
		if l.foreign {
			return probe.Result{}, fmt.Errorf("probe from %s: no linerate runs there, and a probe needs both ends", l.as)
		}
		if l.agent != nil {
			continue
		}
		agent, err := w.Reach(w.p).Dial(ctx, l.name)
		if err != nil {
			return probe.Result{}, err
		}
		l.agent = agent
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return probe.Result{}, fmt.Errorf("draw a token: %w", err)
	}
	return probe.Between(ctx, probe.Side{Name: a.as, End: a.agent, Addr: ends.AAddr}, probe.Side{Name: b.as, End: b.agent, Addr: ends.BAddr}, hex.EncodeToString(secret))
}

var _ probe.End = (*host.Client)(nil)

// pairFacts puts facts and probes together for the rules.
func pairFacts(a, b *looked, ends rules.Ends, r probe.Result) *model.Pair {
	end := func(l *looked, addr netip.Addr, ifname string, t model.Fact[probe.Toward]) model.PairEnd {
		e := model.PairEnd{Name: l.as, Facts: l.facts, Addr: addr, Meant: ifname}
		if v, ok := t.Get(); ok {
			e.Leaving, e.MACs = model.Known(v.Leaving), model.Known(v.MACs)
		} else {
			e.Leaving = model.Unknown[model.Leaving](t.State, t.Why)
		}
		return e
	}
	return &model.Pair{
		A: end(a, ends.AAddr, ends.A, r.A), B: end(b, ends.BAddr, ends.B, r.B),
		RTT: r.RTT, AToB: r.AToB, BToA: r.BToA,
	}
}

// pairRate is what one connection of the path should carry: as stated, by a lab's
// description, or the slower of the two ports.
func (w work) pairRate(ctx context.Context, a, b *looked, ends rules.Ends) model.Fact[unit.BitRate] {
	if w.LineRate > 0 {
		return model.Known(w.LineRate)
	}
	if r := w.Reach(w.p).StatedRate(ctx, a.name, b.name, ends.BAddr); r.State == model.Present {
		return r
	}
	if r := w.Reach(w.p).StatedRate(ctx, b.name, a.name, ends.AAddr); r.State == model.Present {
		return r
	}
	return rules.PathRate(a.facts, b.facts, ends)
}

// fillPair writes what was seen, and what was not.
func fillPair(out *report.Pair, m *model.Pair, r probe.Result, whole bool) {
	if rtt, ok := m.RTT.Get(); ok {
		least, mid, most := rtt.Min.Nanoseconds(), rtt.Median.Nanoseconds(), rtt.Max.Nanoseconds()
		out.RTT, out.RTTMedian, out.RTTMax, out.RTTs = &least, &mid, &most, rtt.N
	}
	out.Datagrams, out.Bytes = r.Load.Datagrams, r.Load.Bytes
	why := map[string]string{}
	for _, rule := range rules.AllPairs() {
		why[rule.ID] = rule.Doc
	}
	for _, f := range rules.CheckPair(m) {
		out.Findings = append(out.Findings, report.NewCheckFinding(f, why[f.Rule]))
	}
	for _, way := range []struct {
		from, to model.PairEnd
		c        model.Crossing
		mtu      **int
		way      *report.Way
	}{{m.A, m.B, m.AToB, &out.MTUAToB, &out.AToB}, {m.B, m.A, m.BToA, &out.MTUBToA, &out.BToA}} {
		fillWay(way.way, way.c)
		if mtu, ok := way.c.PathMTU.Get(); ok {
			*way.mtu = &mtu
		} else if whole {
			out.CouldNotSee = append(out.CouldNotSee, unprobed(way.from, way.to, way.c))
		}
		if l := way.from.Leaving; l.State != model.Present && whole {
			out.CouldNotSee = append(out.CouldNotSee, model.Blind{What: "route from " + way.from.Name, WouldShow: "the interface that traffic really takes", How: l.Why})
		}
	}
}

// fillWay writes the routers of one direction, and where its path MTU falls.
func fillWay(out *report.Way, c model.Crossing) {
	if n, ok := c.Hops.Get(); ok {
		out.Routers = &n
	}
	name := func(a netip.Addr) string {
		if !a.IsValid() {
			return ""
		}
		return a.String()
	}
	for _, a := range c.Routers {
		out.Addresses = append(out.Addresses, name(a))
	}
	if c.Fall != nil {
		out.Falls = &report.Fall{After: name(c.Fall.After), Before: name(c.Fall.Before)}
	}
}

// unprobed says why a direction has no path MTU.
func unprobed(from, to model.PairEnd, c model.Crossing) model.Blind {
	how := c.PathMTU.Why
	if through, ok := c.Through.Get(); ok && !through {
		how = fmt.Sprintf("no UDP datagram from %s arrives at %s: a firewall at either end or between, or no way at all; let UDP from %s to %s pass while check runs, or ping with the don't-fragment bit", from.Addr, to.Addr, from.Addr, to.Addr)
	}
	return model.Blind{What: fmt.Sprintf("path MTU from %s to %s", from.Name, to.Name), WouldShow: "whether large packets vanish on the way", How: how}
}
