package explain

import (
	"maps"
	"slices"
	"time"

	"linerate/internal/model"
)

const (
	// pauseLeast intervals between samples without data are a pause.
	pauseLeast = 2
	// waitedOut: a call that was under way in a pause takes longer than usual by the pause. This share of
	// it tells that one was.
	waitedOut = 0.5
)

// countPauses counts the pauses after which segments of some connection came out of order, and those in
// which nothing came on any connection although calls were under way. When one of several connections is
// used seldom, or nothing is asked for, neither the path nor the server pauses.
func (m *mountView) countPauses(scenes []*scene) {
	var broken []span
	for _, s := range scenes {
		for _, p := range pausesOf(within(s.flow.rcv, s.span)) {
			if p.broken {
				broken = append(broken, p.span)
			}
		}
	}
	broken = join(broken)
	m.brokenOff, m.pauses = float64(len(broken)), float64(len(broken))
	usual := m.usualTime()
	for _, p := range pausesOf(together(scenes)) {
		counted := slices.ContainsFunc(broken, func(b span) bool { return b.from < p.to && p.from < b.to })
		if !counted && m.calledIn(p.span, usual) {
			m.pauses++
		}
	}
}

// pause is a time in which nothing came.
type pause struct {
	span
	broken bool // in its end, or right after it, segments came out of order
}

// pausesOf are the pauses of a connection between data and data.
func pausesOf(os []obs) (out []pause) {
	quiet := 0
	for i := 1; i < len(os); i++ {
		if os[i].c.BytesReceived == os[i-1].c.BytesReceived {
			quiet++
			continue
		}
		if quiet >= pauseLeast && i > quiet+1 {
			p := pause{span: span{from: os[i-1-quiet].at, to: os[i-1].at}}
			p.broken = os[min(i+1, len(os)-1)].c.RcvOOO > os[i-1].c.RcvOOO
			out = append(out, p)
		}
		quiet = 0
	}
	return out
}

// together is what came on all connections, as if it were one.
func together(scenes []*scene) []obs {
	moved := map[time.Duration]*model.Conn{}
	for _, s := range scenes {
		os := within(s.flow.rcv, s.span)
		for i, o := range os {
			sum := moved[o.at]
			if sum == nil {
				sum = &model.Conn{}
				moved[o.at] = sum
			}
			if i > 0 {
				sum.BytesReceived += o.c.BytesReceived - os[i-1].c.BytesReceived
			}
		}
	}
	var out []obs
	for _, at := range slices.Sorted(maps.Keys(moved)) {
		c := moved[at]
		if n := len(out); n > 0 {
			c.BytesReceived += out[n-1].c.BytesReceived
		}
		out = append(out, obs{at: at, c: c})
	}
	return out
}

// answered is how many calls of the operation had been answered at a sample, and the time that all of them
// had taken; false where it was not read.
func (m *mountView) answered(s model.Sample) (calls int64, took time.Duration, ok bool) {
	switch {
	case s.NFS != nil:
		op := s.NFS.Ops[m.op]
		return op.Ops, op.Execute, true
	case s.Requests != nil && m.op == "READ":
		return s.Requests.Read.Ops, s.Requests.Read.Time, true
	case s.Requests != nil:
		return s.Requests.Write.Ops, s.Requests.Write.Time, true
	}
	return 0, 0, false
}

// usualTime is the seconds that a call takes, in the median of the intervals between samples in which some
// were answered.
func (m *mountView) usualTime() float64 {
	var each []float64
	for i, s := range m.end.Samples {
		if i == 0 {
			continue
		}
		n, took, ok := m.answered(s)
		before, had, known := m.answered(m.end.Samples[i-1])
		if ok && known {
			each = append(each, ratio((took-had).Seconds(), float64(n-before)))
		}
	}
	return lowerMedian(each)
}

// calledIn tells whether calls were under way in a pause: those that are answered first after it were made
// before it, or took longer than usual. True where that is not known.
func (m *mountView) calledIn(pause span, usual float64) bool {
	in := m.end.Samples
	last := slices.IndexFunc(in, func(s model.Sample) bool { return s.At >= pause.to })
	if last < 0 || !known(usual) {
		return true
	}
	before, had, ok := m.answered(in[last])
	for _, s := range in[last+1:] {
		n, took, also := m.answered(s)
		if ok && also && n > before {
			answers, times := float64(n-before), (took - had).Seconds()
			madeBefore := times >= answers*(s.At-pause.from).Seconds()
			return madeBefore || times-usual*answers >= waitedOut*(pause.to-pause.from).Seconds()
		}
	}
	return true
}
