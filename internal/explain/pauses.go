package explain

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"linerate/internal/model"
)

// leastPause is the shortest pause that counts as one between bursts: that of disks and windows at work is
// shorter, and makes little difference to a rate over seconds.
const leastPause = 500 * time.Millisecond

// withPauses is the span over which the goodput of watched traffic is counted if that comes in
// bursts. Each burst has a pause that belongs to it, but between the first burst and the last there
// is one pause too few. So the span is made longer by the longest pause in it, as far as there are
// samples. If slow start is left out, the span begins with a whole burst. Traffic without pauses
// keeps its span.
func (v *views) withPauses(s span) span {
	if !v.Passive {
		return s
	}
	moves := v.movements()
	first := slices.IndexFunc(moves, func(m span) bool { return m.to > s.from })
	last := len(moves) - 1
	for last >= 0 && moves[last].from >= s.to {
		last--
	}
	longest := time.Duration(0)
	for i := first + 1; first >= 0 && i <= last; i++ {
		longest = max(longest, moves[i].from-moves[i-1].to)
	}
	if longest < leastPause {
		return s
	}
	burst, out := moves[first], span{from: s.from, to: moves[last].to}
	before, after := v.endOf(v.scenes[0].flow).sampled()
	if first > 0 {
		before = moves[first-1].to
	}
	if last+1 < len(moves) {
		after = moves[last+1].from
	}
	switch {
	case first > 0 && burst.from > s.from: // it begins in a pause: this one is the missing one
		out.from = before
		return out
	case burst.to-burst.from <= longest:
		out.from = burst.from
	default:
		before = out.from
	}
	more := max(0, min(longest, after-out.to))
	out.to += more
	out.from -= max(0, min(longest-more, out.from-before))
	return out
}

// movements are the spans between two samples in which a flow that is judged moved, in their order,
// joined where they touch.
func (v *views) movements() []span {
	moved := map[span]bool{}
	for _, s := range v.scenes {
		os, count := s.flow.counted()
		for i := 1; i < len(os); i++ {
			if count(os[i].c) > count(os[i-1].c) {
				moved[span{from: os[i-1].at, to: os[i].at}] = true
			}
		}
	}
	return join(slices.Collect(maps.Keys(moved)))
}

// join puts spans in their order, and joins those that touch.
func join(all []span) (out []span) {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// counted is a flow as the end counts it by whose counters its goodput is told: the receiver's, else
// the sender's.
func (f flow) counted() ([]obs, func(*model.Conn) int64) {
	if len(f.rcv) > 0 {
		return f.rcv, func(c *model.Conn) int64 { return c.BytesReceived }
	}
	return f.snd, func(c *model.Conn) int64 { return c.BytesAcked }
}
