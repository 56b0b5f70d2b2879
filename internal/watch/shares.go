package watch

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// span is the oldest and the newest sample of a window, and the time between them.
type span struct {
	first, last model.Sample
	took        time.Duration
}

func spanOf(samples []model.Sample) (span, bool) {
	if len(samples) < 2 {
		return span{}, false
	}
	s := span{first: samples[0], last: samples[len(samples)-1]}
	s.took = s.last.At - s.first.At
	return s, s.took > 0
}

// spanFor is a span of which only the length is known.
func spanFor(took time.Duration) span { return span{took: took} }

// perSecond is by how much a counter rose per second; 0 if it fell, since it was reset then.
func (s span) perSecond(first, last int64) float64 {
	return float64(max(0, last-first)) / s.took.Seconds()
}

func (s span) bits(first, last int64) unit.BitRate {
	return unit.BitRate(8 * s.perSecond(first, last))
}

func (s span) share(first, last time.Duration) float64 {
	return min(1, max(0, (last-first).Seconds()/s.took.Seconds()))
}

// Look computes what a host did from the samples of a window. If these are partial, older ones
// supply the earlier reading of some cores.
func Look(name string, older, samples []model.Sample) Host {
	h := Host{Name: name, Cores: []Core{}, NICs: []NIC{}}
	s, ok := spanOf(samples)
	if !ok {
		return h
	}
	if h.Cores, h.NICs = cores(s), nics(s, samples); partial(samples) {
		h.Cores = coresInTurns(append(slices.Clone(older), samples...), s.took)
	}
	h.Ops = ops(s)
	return h
}

func cores(s span) []Core {
	out := []Core{}
	for _, l := range s.last.CPUs {
		i := slices.IndexFunc(s.first.CPUs, func(f model.CPUTime) bool { return f.CPU == l.CPU })
		if i < 0 {
			continue
		}
		out = append(out, coreOf(s.first.CPUs[i], l, s))
	}
	return out
}

func coreOf(f, l model.CPUTime, s span) Core {
	return Core{CPU: l.CPU, User: s.share(f.User, l.User), System: s.share(f.System, l.System),
		SoftIRQ: s.share(f.SoftIRQ+f.IRQ, l.SoftIRQ+l.IRQ), Steal: s.share(f.Steal, l.Steal)}
}

func nics(s span, samples []model.Sample) []NIC {
	out := []NIC{}
	for _, l := range s.last.NICs {
		i := slices.IndexFunc(s.first.NICs, func(f model.NICCount) bool { return f.Name == l.Name })
		if i < 0 {
			continue
		}
		f := s.first.NICs[i]
		n := NIC{Name: l.Name, In: s.bits(f.RxBytes, l.RxBytes), Out: s.bits(f.TxBytes, l.TxBytes),
			Drops:  s.perSecond(f.RxDropped+f.TxDropped+f.RxMissed, l.RxDropped+l.TxDropped+l.RxMissed),
			Errors: s.perSecond(f.Errors(), l.Errors())}
		n.Pauses = paused(samples, l.Name)
		n.QdiscDrops, n.Backlog = qdisc(s, l.Name)
		out = append(out, n)
	}
	return out
}

// paused is how many pause frames an interface counted per second, between the first and the last
// sample that has them: drivers are asked less often than samples are taken. nil: fewer than two do.
func paused(samples []model.Sample, dev string) *float64 {
	var first, last *model.Sample
	for i := range samples {
		if pauseOf(samples[i], dev) == nil {
			continue
		}
		if last = &samples[i]; first == nil {
			first = last
		}
	}
	if first == last || last.At <= first.At {
		return nil
	}
	a, b := pauseOf(*first, dev), pauseOf(*last, dev)
	p := span{took: last.At - first.At}.perSecond(a.Rx+a.Tx, b.Rx+b.Tx)
	return &p
}

// pauseOf is the count of pause frames of an interface in a sample; nil: it has none.
func pauseOf(s model.Sample, dev string) *model.PauseCount {
	for _, n := range s.NICs {
		if n.Name == dev {
			return n.Pause
		}
	}
	return nil
}

// Newest is the last sample, completed: with the pause frames of the last sample that has them, and, if
// samples are partial, with the last reading of each core and queue, also from older samples. nil:
// there is no sample.
func Newest(older, samples []model.Sample) *model.Sample {
	if len(samples) == 0 {
		return nil
	}
	out := samples[len(samples)-1]
	if out.Partial {
		out = whole(out, append(slices.Clone(older), samples...))
	}
	out.NICs = slices.Clone(out.NICs)
	for i := range out.NICs {
		for k := len(samples) - 1; k >= 0 && out.NICs[i].Pause == nil; k-- {
			out.NICs[i].Pause = pauseOf(samples[k], out.NICs[i].Name)
		}
	}
	return &out
}

// qdisc is what an interface's queueing discipline dropped per second, and what waits in it.
func qdisc(s span, dev string) (drops *float64, waits *unit.Bytes) {
	of := func(all []model.QdiscCount) int {
		return slices.IndexFunc(all, func(q model.QdiscCount) bool { return q.Dev == dev })
	}
	first, last := of(s.first.Qdiscs), of(s.last.Qdiscs)
	if first < 0 || last < 0 {
		return nil, nil
	}
	d, w := s.perSecond(s.first.Qdiscs[first].Drops, s.last.Qdiscs[last].Drops), unit.Bytes(s.last.Qdiscs[last].Backlog)
	return &d, &w
}

// ops are the requests that were answered in the window, the most frequent first.
func ops(s span) (out []Op) {
	if f, l := s.first.NFS, s.last.NFS; f != nil && l != nil {
		for name, b := range l.Ops {
			a := f.Ops[name]
			if n := b.Ops - a.Ops; n > 0 {
				out = append(out, Op{name, s.perSecond(a.Ops, b.Ops), (b.RTT - a.RTT) / time.Duration(n), (b.Queue - a.Queue) / time.Duration(n)})
			}
		}
	}
	if f, l := s.first.Requests, s.last.Requests; f != nil && l != nil {
		for _, x := range []struct {
			name string
			a, b model.RequestOp
		}{{"read", f.Read, l.Read}, {"write", f.Write, l.Write}} {
			if n := x.b.Ops - x.a.Ops; n > 0 {
				out = append(out, Op{Name: x.name, Rate: s.perSecond(x.a.Ops, x.b.Ops), Mean: (x.b.Time - x.a.Time) / time.Duration(n)})
			}
		}
	}
	slices.SortFunc(out, func(a, b Op) int { return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Name, b.Name)) })
	return out
}

// Conns are the connections in a host's window, the busiest first. A connection that began or ended
// within the window is measured from its first sample to its last.
func Conns(host string, samples []model.Sample, peer netip.Addr) []Conn {
	type ends struct{ local, remote netip.AddrPort }
	type track struct {
		first, last model.Conn
		from, to    time.Duration
	}
	tracks := map[ends]*track{}
	for _, s := range samples {
		for _, c := range s.Conns {
			if peer.IsValid() && c.Remote.Addr().Unmap() != peer.Unmap() {
				continue
			}
			k := ends{c.Local, c.Remote}
			if t := tracks[k]; t != nil && t.last.Inode == c.Inode {
				t.last, t.to = c, s.At
				continue
			}
			tracks[k] = &track{c, c, s.At, s.At}
		}
	}
	out := []Conn{}
	for k, t := range tracks {
		if t.to > t.from {
			out = append(out, connOf(host, k.local, k.remote, t.first, t.last, span{took: t.to - t.from}))
		}
	}
	slices.SortFunc(out, func(a, b Conn) int {
		return cmp.Or(cmp.Compare(max(b.Out, b.In), max(a.Out, a.In)), a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
	return out
}

func connOf(host string, local, remote netip.AddrPort, f, l model.Conn, s span) Conn {
	c := Conn{Host: host, Local: local, Remote: remote, RTT: l.RTT, Waiting: unit.Bytes(l.RecvQ),
		Out: s.bits(f.BytesAcked, l.BytesAcked), In: s.bits(f.BytesReceived, l.BytesReceived)}
	if sent := l.BytesSent - f.BytesSent; sent > 0 {
		c.Resent = min(1, float64(max(0, l.BytesRetrans-f.BytesRetrans))/float64(sent))
	}
	if c.In > c.Out { // the other end sends: what held it back is not seen here
		return c
	}
	busy := s.share(f.Busy, l.Busy)
	window, buffer := s.share(f.RwndLimited, l.RwndLimited), s.share(f.SndbufLimited, l.SndbufLimited)
	path, app := max(0, busy-window-buffer), 1-busy
	c.Busy, c.Window, c.Buffer, c.ByPath, c.ByApp = &busy, &window, &buffer, &path, &app
	return c
}
