package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

const (
	// fullVote: a connection votes with what it misses where it moved at least this
	// share of what the busiest one did, or had data waiting all the time. Others were
	// left idle, and vote with what they moved.
	fullVote = 0.1
	// leastVote is the vote of a connection that misses nothing, as a share of its fair
	// share.
	leastVote = 0.02
	// groupGap: connections form two groups if the slowest of the full ones carries at least this
	// many times what the fastest of the poor ones does. groupSpread: the full ones differ by less
	// than this factor.
	groupGap    = 2.0
	groupSpread = 2.0
	// losesMore: the poor ones lose at least this many times the share that the full ones lose.
	losesMore = 5.0
	// groupsFrom: among fewer connections there are no groups.
	groupsFrom = 3
)

// poorConnections is the metric of the evidence that only some connections are worse off.
const poorConnections = "poor_connections"

type ballot struct {
	weight float64
	scene  *scene
	first  *finding
	next   *finding
}

// elect lets the flows vote: what holds back most of what is missing is the limiter, not
// what most of the data passed under. Connections that fall into a full and a poor group
// for a reason that only the poor ones show leave the vote to those.
func elect(scenes []*scene) model.Verdict {
	var ballots []ballot
	for _, s := range scenes {
		b := ballot{weight: s.vote(scenes), scene: s}
		b.first, b.next = s.capFirst(diagnose(s))
		s.capUnshown(b.first)
		s.capUnshown(b.next)
		ballots = append(ballots, b)
	}
	ballots = withoutLate(ballots)
	all := ballots
	g := groupsOf(ballots)
	if g != nil {
		ballots = g.poor
	}
	win, agree := winner(ballots)
	if g != nil {
		switch rest, _ := winner(g.full); {
		case rest.first.id == win.first.id: // it holds all of them alike, and the poor ones lose besides
			win, agree = winner(all)
			g.say(win.first)
		default:
			g.tell(win.first)
			if win.next == nil && !claimsNothing(rest.first.id) {
				win.next = rest.first // what then holds all of them alike
			}
		}
	}
	v := verdict(win, agree, len(all))
	v.Measured = unit.BitRate(win.scene.total)
	causesOf(&v, win)
	return v
}

// withoutLate leaves out connections that were watched for too few round trips, where the others moved
// most of the data. The transfer began before they did: a copy that opens one stream more shortly before
// its end is not over before slow start was.
func withoutLate(all []ballot) []ballot {
	late, moved := 0.0, 0.0
	for _, b := range all {
		moved += b.scene.bytes
		if b.first.id == model.StartUp {
			late += b.scene.bytes
		}
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(b ballot) bool { return b.first.id == model.StartUp })
	if len(rest) == 0 || 2*late >= moved {
		return all
	}
	return rest
}

// winner is the ballot with the most votes of those for the limiter with the most, and
// that limiter's share of all votes.
func winner(ballots []ballot) (ballot, float64) {
	votes, sum := map[model.LimiterID]float64{}, 0.0
	for _, b := range ballots {
		votes[b.first.id] += b.weight
		sum += b.weight
	}
	var win ballot
	for _, b := range ballots {
		if win.first == nil || votes[b.first.id] > votes[win.first.id] ||
			(b.first.id == win.first.id && b.weight > win.weight) {
			win = b
		}
	}
	return win, votes[win.first.id] / sum
}

// vote is the weight of a flow: the goodput that it is missing of its fair share of the
// ceiling or, where that is not known, of what the fastest flow has.
func (s *scene) vote(all []*scene) float64 {
	top, most := 0.0, 0.0
	for _, x := range all {
		top, most = max(top, x.rate()), max(most, x.bytes)
	}
	fair := s.ceiling / s.c.streams()
	if !known(fair) {
		fair = top
	}
	if fair <= 0 || s.bytes < fullVote*most && !s.flow.wanting() {
		return max(s.rate(), 1)
	}
	return max(fair-s.rate(), leastVote*fair, 1)
}

// groups are connections of which some are poor for a reason of their own.
type groups struct {
	full, poor []ballot
	why        string
}

// groupsOf finds the groups; nil where there are none.
func groupsOf(all []ballot) *groups {
	if len(all) < groupsFrom || slices.ContainsFunc(all, func(b ballot) bool { return b.scene.snd == nil }) {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b ballot) int { return cmp.Compare(b.scene.rate(), a.scene.rate()) })
	cut, gap := 0, 0.0
	for i := 1; i < len(sorted); i++ {
		if r := sorted[i-1].scene.rate() / max(sorted[i].scene.rate(), 1); r > gap {
			cut, gap = i, r
		}
	}
	g := &groups{full: sorted[:cut], poor: sorted[cut:]}
	if gap < groupGap || 2*cut < len(all) || sorted[0].scene.rate() > groupSpread*sorted[cut-1].scene.rate() || !g.differ() {
		return nil
	}
	return g
}

// differ tells whether the poor ones show something that the full ones do not, and what.
func (g *groups) differ() bool {
	for _, b := range g.poor {
		if !b.scene.flow.wanting() {
			return false // they are not asked for more
		}
	}
	lost := func(of []ballot, pick func(a, b float64) float64) float64 {
		out := of[0].scene.snd.retrans
		for _, b := range of[1:] {
			out = pick(out, b.scene.snd.retrans)
		}
		return out
	}
	queued := func(b ballot) bool { return b.scene.queues() }
	few, many := lost(g.poor, math.Min), lost(g.full, math.Max)
	switch {
	case few > lossFloor && few >= losesMore*many:
		g.why = fmt.Sprintf("only they lose segments (%s and more against %s at most)", pct(few), pct(many))
	case !slices.ContainsFunc(g.full, queued) && !slices.ContainsFunc(g.poor, func(b ballot) bool { return !queued(b) }):
		g.why = "only they wait in a queue"
	default:
		return false
	}
	return true
}

// tell puts first in the evidence of the elected finding that only some connections are poor.
func (g *groups) tell(f *finding) {
	at := len(f.evidence)
	g.say(f)
	f.evidence = append([]model.Evidence{f.evidence[at]}, f.evidence[:at]...)
	f.advice = "some connections are worse off than others between the same hosts: links are shared out by a hash of addresses and ports (a bond, LACP, ECMP), and one member is bad. Compare the counters of its members; open connections from other ports: which are poor then changes with the ports"
	f.alts = slices.DeleteFunc(f.alts, func(a model.Alternative) bool { return a.Limiter == model.CongestionControl })
}

// say adds what was seen of the poor connections.
func (g *groups) say(f *finding) {
	rate := func(of []ballot) unit.BitRate {
		sum := 0.0
		for _, b := range of {
			sum += b.scene.rate()
		}
		return unit.BitRate(sum / float64(len(of)))
	}
	n := len(g.full) + len(g.poor)
	f.say("", poorConnections, float64(len(g.poor)), "connections", g.poor[0].scene.n(), "%d of %d connections carry %s each while the others carry %s, and %s", len(g.poor), n, rate(g.poor), rate(g.full), g.why)
}

// wanting: the sender had data waiting to be sent nearly all the time.
func (f flow) wanting() bool {
	return len(f.snd) > 2 && share(f.snd, func(o obs) bool { return o.c.NotSent > 0 }) >= wantsAlways
}

// wantsAlways: a sender that has data waiting in this share of the samples never runs out of it.
const wantsAlways = 0.8
