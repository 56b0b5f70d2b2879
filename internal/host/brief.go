package host

import (
	"slices"

	"linerate/internal/host/delta"
	"linerate/internal/model"
)

// BriefBytes is how much one sample of a view that nobody looks at may take on its way, message and
// all. Where it would take more, cores, queues, and of connections what is no counter are told in turns;
// and where the counters of connections alone take more, samples are told more seldom, at last with
// what those counters grew by rounded.
const BriefBytes = 1000

// turns are the units of a sample that it tells, Told of them from place From on and around the end;
// Told 0: all. A unit is a core, with its packets, or a transmit queue, or of a connection what is no
// counter. What a text has of the others is what was told of them last, since a text that differs from
// the one before in few numbers is short.
type turns struct {
	From int `json:"from,omitempty"`
	Told int `json:"told,omitempty"`
}

func cores(s model.Sample) int { return max(len(s.CPUs), len(s.Softnet)) }

func units(s model.Sample) int { return cores(s) + len(s.Queues) + len(s.Conns) }

// tells tells whether unit i of n is told.
func (t turns) tells(i, n int) bool { return t.Told == 0 || (i-t.From+n)%n < t.Told }

// hold is a sample that tells those units alone: of the others it has what the text before had.
func (t turns) hold(s, before model.Sample) model.Sample {
	n, k := units(s), cores(s)
	s.CPUs, s.Softnet, s.Queues, s.Conns = slices.Clone(s.CPUs), slices.Clone(s.Softnet), slices.Clone(s.Queues), slices.Clone(s.Conns)
	for i := range n {
		if t.tells(i, n) {
			continue
		}
		if i < len(s.CPUs) {
			s.CPUs[i] = before.CPUs[i]
		}
		if i < len(s.Softnet) {
			s.Softnet[i] = before.Softnet[i]
		}
		if q := i - k; q >= 0 && q < len(s.Queues) {
			s.Queues[q] = before.Queues[q]
		}
		if c := i - k - len(s.Queues); c >= 0 {
			s.Conns[c] = onlyCounters(s.Conns[c], before.Conns, c)
		}
	}
	return s
}

// onlyCounters is a connection with its counters and its state, and all else as it was told before; one that
// is new or stuck is told whole. Its place is at.
func onlyCounters(now model.Conn, before []model.Conn, at int) model.Conn {
	i := sameConn(now, before, at)
	if i < 0 || now.Backoff > 0 {
		return now
	}
	c := before[i]
	c.State, c.CAState, c.Backoff, c.Options = now.State, now.CAState, now.Backoff, now.Options
	c.TotalRetrans, c.TotalRTO, c.ReordSeen, c.DSACKDups, c.RcvOOO, c.SockDrops = now.TotalRetrans, now.TotalRTO, now.ReordSeen, now.DSACKDups, now.RcvOOO, now.SockDrops
	c.BytesAcked, c.BytesReceived, c.BytesSent, c.BytesRetrans = now.BytesAcked, now.BytesReceived, now.BytesSent, now.BytesRetrans
	c.SegsOut, c.SegsIn, c.DataSegsOut, c.DataSegsIn, c.Delivered = now.SegsOut, now.SegsIn, now.DataSegsOut, now.DataSegsIn, now.Delivered
	c.Busy, c.RwndLimited, c.SndbufLimited = now.Busy, now.RwndLimited, now.SndbufLimited
	return c
}

// sameConn is where a connection is among others, most likely at the place that it has now; below 0: nowhere.
func sameConn(now model.Conn, before []model.Conn, at int) int {
	same := func(c model.Conn) bool {
		return c.Local == now.Local && c.Remote == now.Remote && c.Inode == now.Inode
	}
	if at < len(before) && same(before[at]) {
		return at
	}
	return slices.IndexFunc(before, same)
}

// roundGrowths is a sample whose connections' numbers grew since the one before by what is told in few
// bits, so that they lag by less than 1/256 of that, and of what they are now: a queue that is empty, and
// a pace without a limit (below 0), are told as such. What is left out counts in the next sample.
func roundGrowths(s, before model.Sample) model.Sample {
	s.Conns = slices.Clone(s.Conns)
	for i := range s.Conns {
		c := &s.Conns[i]
		k := sameConn(*c, before.Conns, i)
		if k < 0 {
			continue
		}
		b := before.Conns[k]
		rounded(&c.BytesAcked, b.BytesAcked)
		rounded(&c.BytesReceived, b.BytesReceived)
		rounded(&c.BytesSent, b.BytesSent)
		rounded(&c.BytesRetrans, b.BytesRetrans)
		rounded(&c.SegsOut, b.SegsOut)
		rounded(&c.SegsIn, b.SegsIn)
		rounded(&c.DataSegsOut, b.DataSegsOut)
		rounded(&c.DataSegsIn, b.DataSegsIn)
		rounded(&c.Delivered, b.Delivered)
		rounded(&c.Busy, b.Busy)
		rounded(&c.RwndLimited, b.RwndLimited)
		rounded(&c.SndbufLimited, b.SndbufLimited)
		rounded(&c.RTT, b.RTT)
		rounded(&c.RTTVar, b.RTTVar)
		rounded(&c.RcvRTT, b.RcvRTT)
		rounded(&c.DeliveryRate, b.DeliveryRate)
		rounded(&c.PacingRate, b.PacingRate)
		rounded(&c.SndWnd, b.SndWnd)
		rounded(&c.RcvWnd, b.RcvWnd)
		rounded(&c.SendQ, b.SendQ)
		rounded(&c.RecvQ, b.RecvQ)
		rounded(&c.NotSent, b.NotSent)
		rounded(&c.WmemQueued, b.WmemQueued)
		rounded(&c.RmemAlloc, b.RmemAlloc)
	}
	return roundTotals(s, before)
}

// roundTotals does so with the sums of connections.
func roundTotals(s, before model.Sample) model.Sample {
	s.Totals = slices.Clone(s.Totals)
	for i := range s.Totals {
		t := &s.Totals[i]
		if i >= len(before.Totals) || before.Totals[i].Remote != t.Remote {
			continue
		}
		b := before.Totals[i]
		rounded(&t.BytesAcked, b.BytesAcked)
		rounded(&t.BytesReceived, b.BytesReceived)
		rounded(&t.Busy, b.Busy)
		rounded(&t.RwndLimited, b.RwndLimited)
		rounded(&t.SndbufLimited, b.SndbufLimited)
		rounded(&t.Nothing, b.Nothing)
	}
	return s
}

// rounded leaves out of a growth what takes many bits to tell, unless it is much beside what a number fell to.
func rounded[T ~int64 | ~float64](now *T, before T) {
	told := before + T(delta.Rounded(int64(*now-before)))
	if max(told-*now, *now-told) <= *now/256 {
		*now = told
	}
}

// only is what a sample tells of those units alone.
func (t turns) only(s model.Sample) model.Sample {
	if t.Told == 0 {
		return s
	}
	n, k := units(s), cores(s)
	s.Partial = true
	s.CPUs = keep(s.CPUs, func(i int) bool { return t.tells(i, n) })
	s.Softnet = keep(s.Softnet, func(i int) bool { return t.tells(i, n) })
	s.Queues = keep(s.Queues, func(i int) bool { return t.tells(k+i, n) })
	return s
}

// keep leaves the list as it is, since samples may share it.
func keep[T any](list []T, is func(i int) bool) (out []T) {
	for i, x := range list {
		if is(i) {
			out = append(out, x)
		}
	}
	return out
}

// sameUnits tells whether samples have the same units.
func sameUnits(a, b model.Sample) bool {
	return slices.EqualFunc(a.CPUs, b.CPUs, func(x, y model.CPUTime) bool { return x.CPU == y.CPU }) &&
		slices.EqualFunc(a.Softnet, b.Softnet, func(x, y model.Softnet) bool { return x.CPU == y.CPU }) &&
		slices.EqualFunc(a.Queues, b.Queues, func(x, y model.QueueCount) bool { return x.Dev == y.Dev && x.Queue == y.Queue })
}
