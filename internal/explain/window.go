package explain

import (
	"cmp"
	"time"

	"linerate/internal/model"
)

// Of a connection that began within the recording the first slowStartRTTs
// round trips are left out, but at most slowStartShare of it: slow start's
// overshoot loses thousands of segments on a healthy path, and cubic needs
// some hundred round trips to settle.
const (
	slowStartRTTs  = 125
	slowStartShare = 0.4
	// startUpRTTs: a transfer shorter than this ends before it is steady.
	startUpRTTs = 30
	// freshBytes: a connection that had moved no more than this when it
	// was first seen began within the recording or just before.
	freshBytes = 4 << 20
)

// span is the part of a recording that a flow is judged by.
type span struct {
	from, to time.Duration
	fresh    bool          // the connection began within the recording
	whole    time.Duration // the active part, slow start included
}

// steady finds the steady part of a flow: without the idle time before the
// first and after the last bytes, without slow start.
func (f flow) steady() span {
	os, count := f.rcv, func(c *model.Conn) int64 { return c.BytesReceived }
	if len(f.snd) > 0 {
		os, count = f.snd, func(c *model.Conn) int64 { return c.BytesAcked }
	}
	first, last := busyRange(os, count)
	if last <= first {
		return span{}
	}
	s := span{from: os[first].at, to: os[last].at}
	s.whole = s.to - s.from
	// Counters that begin with the watch do not tell how old the connection is.
	s.fresh = os[first].c.From == "" && os[first].c.BytesAcked+os[first].c.BytesReceived <= freshBytes
	if s.fresh && s.whole >= startUpRTTs*f.minRTT() {
		skip := min(slowStartRTTs*f.minRTT(), time.Duration(slowStartShare*float64(s.whole)))
		s.from += skip
	}
	return s
}

// before is for how long the flow had something to send before it was first seen; 0 where the sender is
// not seen, or its kernel does not tell, or the flow was idle then: what an old connection sent long ago is
// not what it begins to send later.
func (f flow) before() time.Duration {
	if len(f.snd) < 2 || f.snd[0].c.From != "" {
		return 0
	}
	first, next := f.snd[0].c, f.snd[1].c
	if !waiting(first) && next.BytesAcked == first.BytesAcked {
		return 0
	}
	return first.Busy
}

// movedBetween is how many bytes a flow moved between two moments, in seconds; between two
// observations its rate is taken to be steady.
func (f flow) movedBetween(from, to float64) float64 {
	os, count := f.counted()
	moved := 0.0
	for i := 1; i < len(os); i++ {
		a, b := os[i-1].at.Seconds(), os[i].at.Seconds()
		if in := min(b, to) - max(a, from); in > 0 {
			moved += float64(max(0, count(os[i].c)-count(os[i-1].c))) * in / (b - a)
		}
	}
	return moved
}

// edgeShare of the bytes at each edge of a recording may be stray traffic
// before and after the transfer.
const edgeShare = 0.002

// busyRange is the first and last observation between which the transfer ran:
// where the bytes moved, or where data waited to move.
func busyRange(os []obs, count func(*model.Conn) int64) (first, last int) {
	if len(os) == 0 {
		return 0, 0
	}
	base := count(os[0].c)
	total := float64(count(os[len(os)-1].c) - base)
	first, last = len(os)-1, 0
	for i := 1; i < len(os); i++ {
		before, after := float64(count(os[i-1].c)-base), float64(count(os[i].c)-base)
		moves := after > before && after > edgeShare*total && before < (1-edgeShare)*total
		if moves || (waiting(os[i-1].c) && waiting(os[i].c)) {
			first, last = min(first, i-1), i
		}
	}
	return first, last
}

// minRTT is the smallest round trip either end knows of; 0 is unknown. The
// receiver's own estimate (rcv_rtt) is used only when nothing better is there. A kernel that
// keeps no minimum (before 4.6) has the sender's round trips, the least of which stands in.
func (f flow) minRTT() time.Duration {
	var best, seen, rcv time.Duration
	for _, o := range f.snd {
		best, rcv = lower(best, o.c.MinRTT), lower(rcv, o.c.RcvRTT)
		if older(o.c, infoMinRTT) {
			seen = lower(seen, o.c.RTT)
		}
	}
	for _, o := range f.rcv {
		best, rcv = lower(best, o.c.MinRTT), lower(rcv, o.c.RcvRTT)
	}
	return cmp.Or(best, seen, rcv)
}

func lower(a, b time.Duration) time.Duration {
	if b > 0 && (a == 0 || b < a) {
		return b
	}
	return a
}

// within is the part of a series inside a span.
func within(os []obs, s span) []obs {
	var out []obs
	for _, o := range os {
		if o.at >= s.from && o.at <= s.to {
			out = append(out, o)
		}
	}
	return out
}
