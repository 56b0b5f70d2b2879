package past

import (
	"cmp"
	"slices"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
)

// Record is what was shown in one slot of time. All in it is a sum over the time that was seen.
type Record struct {
	At   time.Time     `json:"at"` // begin of the slot
	Span time.Duration `json:"span"`
	// Late has it take the place of time in which its paths were stale: it came when the samples of
	// that time did. What hosts did then is in no other record.
	Late  bool   `json:"late,omitempty"`
	Paths []Path `json:"paths,omitempty"`
	Hosts []Host `json:"hosts,omitempty"`
	// Events are changes of what was shown, without their evidence; Marks what changed on hosts.
	Events []watch.Event `json:"events,omitempty"`
	Marks  []watch.Mark  `json:"marks,omitempty"`
}

// End is where the slot ends.
func (r Record) End() time.Time { return r.At.Add(r.Span) }

// Path is one path in a slot.
type Path struct {
	Name  string `json:"name"`
	Parts []Part `json:"parts"` // by what was shown; the longest first
	// Least and Most are the lowest and highest goodput that was shown while it was known.
	Least unit.BitRate `json:"least_bps"`
	Most  unit.BitRate `json:"most_bps"`
	// Ceiling is what the path could have carried while that was known, Under what it carried
	// then, and CeilingFor how long that was.
	Ceiling    float64       `json:"ceiling_bytes,omitempty"`
	Under      float64       `json:"under_bytes,omitempty"`
	CeilingFor time.Duration `json:"ceiling_for,omitempty"`
	// Sent is what the watched senders had acknowledged, and Resent the part that went twice.
	Sent   float64   `json:"sent_bytes,omitempty"`
	Resent float64   `json:"resent_bytes,omitempty"`
	RTT    Histogram `json:"rtt,omitempty"`
}

// Part is how long one state was shown and what the path carried meanwhile.
type Part struct {
	watch.Named
	For   time.Duration `json:"for"`
	Bytes float64       `json:"bytes"`
}

// Known is for how long it was known what the path carried, and Bytes how much that was.
func (p Path) Known() (long time.Duration, bytes float64) {
	for _, x := range p.Parts {
		if x.State.Known() {
			long, bytes = long+x.For, bytes+x.Bytes
		}
	}
	return long, bytes
}

// Seen is for how long anything was shown.
func (p Path) Seen() (long time.Duration) {
	for _, x := range p.Parts {
		long += x.For
	}
	return long
}

// Goodput is the mean over the time in which it was known; nil where it never was.
func (p Path) Goodput() *unit.BitRate {
	long, bytes := p.Known()
	return over(8*bytes, long)
}

// MeanCeiling is what the path could have carried, while that was known.
func (p Path) MeanCeiling() *unit.BitRate { return over(8*p.Ceiling, p.CeilingFor) }

func over(bits float64, long time.Duration) *unit.BitRate {
	if long <= 0 {
		return nil
	}
	r := unit.BitRate(bits / long.Seconds())
	return &r
}

// Host is what one host did in a slot.
type Host struct {
	Name  string        `json:"name"`
	Seen  time.Duration `json:"seen"` // with samples that were not stale
	Cores []Core        `json:"cores,omitempty"`
	NICs  []NIC         `json:"nics,omitempty"`
	Ops   []Op          `json:"requests,omitempty"`
}

// Core is a core's number and its time in user, system, softirq and steal, in milliseconds.
type Core [5]float64

// NIC is what an interface carried and refused.
type NIC struct {
	Name   string   `json:"name"`
	In     float64  `json:"in_bytes"`
	Out    float64  `json:"out_bytes"`
	Drops  float64  `json:"drops,omitempty"`
	Errors float64  `json:"errors,omitempty"`
	Pauses *float64 `json:"pause_frames,omitempty"` // absent: not counted
}

// Op is how many requests of one kind were answered, and the sums of their times.
type Op struct {
	Name  string        `json:"name"`
	Count float64       `json:"count"`
	Time  time.Duration `json:"time"`
	Queue time.Duration `json:"queue,omitempty"`
}

// Merge adds records up to one of a wider slot. What lies in none of them stays out. Late ones take
// the place of stale time of the others; where there are no others, what comes out is late itself.
func Merge(at time.Time, span time.Duration, all ...Record) Record {
	out := indexed{Record: Record{At: at, Span: span, Late: len(all) > 0}}
	late := map[string]time.Duration{}
	for _, r := range all {
		out.Late = out.Late && r.Late
		for _, p := range r.Paths {
			out.path(p.Name).add(p)
			if r.Late {
				late[p.Name] += p.Seen()
			}
		}
		for _, h := range r.Hosts {
			out.host(h.Name).add(h)
		}
		out.Events, out.Marks = append(out.Events, r.Events...), append(out.Marks, r.Marks...)
	}
	for name, long := range late {
		if !out.Late {
			out.path(name).fresh(long)
		}
	}
	out.order()
	return out.Record
}

// fresh takes so much away from the time in which the path was stale.
func (p *Path) fresh(long time.Duration) {
	p.Parts = slices.DeleteFunc(p.Parts, func(x Part) bool { return x.State == watch.Stale && x.For <= long })
	for i := range p.Parts {
		if p.Parts[i].State == watch.Stale {
			p.Parts[i].For -= long
		}
	}
}

// order gives the lists an order that does not depend on what was added first.
func (r *Record) order() {
	for i := range r.Paths {
		slices.SortStableFunc(r.Paths[i].Parts, func(a, b Part) int { return cmp.Compare(b.For, a.For) })
	}
	slices.SortFunc(r.Paths, func(a, b Path) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Hosts, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
}

// find is the element of a list that fits, which is made where there is none. It is looked for at one
// place first: where it stood in what is added.
func find[T any](list *[]T, near int, fits func(T) bool, made T) *T {
	if near < len(*list) && fits((*list)[near]) {
		return &(*list)[near]
	}
	i := slices.IndexFunc(*list, fits)
	if i < 0 {
		i = len(*list)
		*list = append(*list, made)
	}
	return &(*list)[i]
}

// indexed is a record that is made, with the places of its paths and hosts: there may be thousands.
type indexed struct {
	Record
	paths, hosts map[string]int
}

func (r *indexed) path(name string) *Path {
	return named(&r.Paths, &r.paths, name, Path{Name: name, Least: -1})
}

func (r *indexed) host(name string) *Host {
	return named(&r.Hosts, &r.hosts, name, Host{Name: name})
}

// named is the element of a name, which is made where there is none.
func named[T any](list *[]T, places *map[string]int, name string, made T) *T {
	i, ok := (*places)[name]
	if !ok {
		if *places == nil {
			*places = map[string]int{}
		}
		i = len(*list)
		*list, (*places)[name] = append(*list, made), i
	}
	return &(*list)[i]
}

func (p *Path) add(q Path) {
	for _, x := range q.Parts {
		y := p.part(x.Named)
		y.For, y.Bytes = y.For+x.For, y.Bytes+x.Bytes
	}
	if long, _ := q.Known(); long > 0 {
		p.bounds(q.Least, q.Most)
	}
	p.Ceiling, p.Under, p.CeilingFor = p.Ceiling+q.Ceiling, p.Under+q.Under, p.CeilingFor+q.CeilingFor
	p.Sent, p.Resent = p.Sent+q.Sent, p.Resent+q.Resent
	p.RTT.merge(q.RTT)
}

func (p *Path) part(n watch.Named) *Part {
	return find(&p.Parts, 0, func(x Part) bool { return x.Named == n }, Part{Named: n})
}

func (p *Path) bounds(least, most unit.BitRate) {
	if p.Least < 0 || least < p.Least {
		p.Least = least
	}
	p.Most = max(p.Most, most)
}

func (h *Host) add(g Host) {
	h.Seen += g.Seen
	for i, c := range g.Cores {
		d := find(&h.Cores, i, func(x Core) bool { return x[0] == c[0] }, Core{c[0]})
		for k := 1; k < len(c); k++ {
			d[k] += c[k]
		}
	}
	for i, n := range g.NICs {
		m := find(&h.NICs, i, func(x NIC) bool { return x.Name == n.Name }, NIC{Name: n.Name})
		m.In, m.Out, m.Drops, m.Errors = m.In+n.In, m.Out+n.Out, m.Drops+n.Drops, m.Errors+n.Errors
		if n.Pauses != nil {
			all := *n.Pauses
			if m.Pauses != nil {
				all += *m.Pauses
			}
			m.Pauses = &all
		}
	}
	for i, o := range g.Ops {
		p := find(&h.Ops, i, func(x Op) bool { return x.Name == o.Name }, Op{Name: o.Name})
		p.Count, p.Time, p.Queue = p.Count+o.Count, p.Time+o.Time, p.Queue+o.Queue
	}
}
