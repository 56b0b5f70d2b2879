package past

import (
	"math"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
)

// longest is how much time one picture may stand for: after more of it nothing was seen.
const longest = 3 * time.Second

// Gather makes records of pictures. The zero value with a Span is ready.
type Gather struct {
	Span time.Duration // of a record
	// PathsOnly has records say nothing of what hosts did, which is most of them.
	PathsOnly bool

	open indexed
	last time.Time
	seen map[string]bool // what the pictures before this showed: paths, and hosts behind a zero byte
}

// Add takes the pictures of one moment and returns the records of the slots that ended before it.
// A picture stands for the time since the one before, if that showed the same path.
func (g *Gather) Add(all []watch.Picture) (ended []Record) {
	if len(all) == 0 {
		return nil
	}
	at, from, seen := all[0].At, g.last, g.seen
	g.last, g.seen = at, map[string]bool{}
	if d := at.Sub(from); d <= 0 || d > longest {
		from, seen = at, nil
	}
	for {
		slot := from.Truncate(g.Span)
		if !slot.Equal(g.open.At) {
			ended = append(ended, g.Close()...)
			g.open = indexed{Record: Record{At: slot, Span: g.Span}}
		}
		to := slot.Add(g.Span)
		if !to.Before(at) {
			to = at
		}
		g.show(all, seen, to.Sub(from))
		if from = to; to.Equal(at) {
			break
		}
	}
	g.changes(all)
	return ended
}

// show adds pictures for a piece of time to the open record, of what was seen before it too.
func (g *Gather) show(all []watch.Picture, seen map[string]bool, long time.Duration) {
	hosts := map[string]bool{}
	for _, p := range all {
		if g.seen[p.Path] = true; seen[p.Path] {
			g.open.path(p.Path).show(p, long)
		}
		for _, h := range p.Hosts {
			name := "\x00" + h.Name
			if g.seen[name] = true; seen[name] && !hosts[name] && !g.PathsOnly {
				g.open.host(h.Name).show(h, long)
			}
			hosts[name] = true
		}
	}
}

// changes adds what changed with these pictures.
func (g *Gather) changes(all []watch.Picture) {
	marked := map[string]bool{}
	for _, p := range all {
		for _, e := range p.Events {
			e.Evidence = nil
			g.open.Events = append(g.open.Events, e)
		}
		for _, h := range p.Hosts {
			if !marked[h.Name] {
				marked[h.Name] = true
				g.open.Marks = append(g.open.Marks, h.Marks...)
			}
		}
	}
}

// Close returns the record of the slot that is not over yet, if anything is in it.
func (g *Gather) Close() []Record {
	r := g.open.Record
	g.open = indexed{Record: Record{At: r.At, Span: r.Span}}
	if len(r.Paths)+len(r.Hosts)+len(r.Events)+len(r.Marks) == 0 {
		return nil
	}
	r.order()
	for i := range r.Paths {
		r.Paths[i].Least = max(0, r.Paths[i].Least)
	}
	return []Record{r}
}

// show adds what a picture says of some time.
func (p *Path) show(q watch.Picture, long time.Duration) {
	sec := long.Seconds()
	if long <= 0 {
		return
	}
	x := p.part(q.Shown)
	x.For += long
	if !q.Shown.State.Known() {
		return
	}
	bytes := float64(q.Goodput) / 8 * sec
	x.Bytes += math.Round(bytes)
	p.bounds(q.Goodput, q.Goodput)
	if q.Ceiling != nil {
		p.Ceiling, p.Under, p.CeilingFor = p.Ceiling+math.Round(float64(*q.Ceiling)/8*sec), p.Under+math.Round(bytes), p.CeilingFor+long
	}
	for _, c := range q.Conns {
		p.RTT.put(c.RTT)
		if c.Busy != nil {
			out := float64(c.Out) / 8 * sec
			p.Sent, p.Resent = p.Sent+math.Round(out), p.Resent+math.Round(out*c.Resent)
		}
	}
}

// show adds what a picture says of a host, for some time.
func (h *Host) show(g watch.Host, long time.Duration) {
	if g.Stale || long <= 0 {
		return
	}
	sec := long.Seconds()
	of := func(rate float64) float64 { return math.Round(rate * sec) }
	bytes := func(r unit.BitRate) float64 { return math.Round(float64(r) / 8 * sec) }
	one := Host{Seen: long}
	for _, c := range g.Cores {
		one.Cores = append(one.Cores, Core{float64(c.CPU), of(1000 * c.User), of(1000 * c.System), of(1000 * c.SoftIRQ), of(1000 * c.Steal)})
	}
	for _, n := range g.NICs {
		x := NIC{Name: n.Name, In: bytes(n.In), Out: bytes(n.Out), Drops: n.Drops * sec, Errors: n.Errors * sec}
		if n.Pauses != nil {
			frames := *n.Pauses * sec
			x.Pauses = &frames
		}
		one.NICs = append(one.NICs, x)
	}
	for _, o := range g.Ops {
		count := o.Rate * sec
		one.Ops = append(one.Ops, Op{o.Name, count, time.Duration(count * float64(o.Mean)), time.Duration(count * float64(o.Queue))})
	}
	h.add(one)
}

// Late makes records of what a path would have been shown as while it was stale: pictures in order, each
// of which stands for the time since the one before it. Hosts are in them where the pictures have some.
func Late(span time.Duration, run []watch.Picture) (out []Record) {
	g := Gather{Span: span}
	for _, p := range run {
		out = append(out, g.Add([]watch.Picture{p})...)
	}
	out = append(out, g.Close()...)
	for i := range out {
		out[i].Late = true
	}
	return out
}
