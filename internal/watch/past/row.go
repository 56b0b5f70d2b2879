package past

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
)

// Slots adds records up to one for each slot of a width, in order. A record that is wider than
// that stays as it is.
func Slots(width time.Duration, records []Record) (out []Record) {
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b Record) int { return a.At.Compare(b.At) })
	for i := 0; i < len(records); {
		wide := max(width, records[i].Span)
		at, n := records[i].At.Truncate(wide), i
		for n < len(records) && records[n].Span <= wide && records[n].At.Truncate(wide).Equal(at) {
			n++
		}
		out = append(out, Merge(at, wide, records[i:n]...))
		i = n
	}
	return out
}

// Row is what a path did in a stretch of time. What is null was not known.
type Row struct {
	At      time.Time     `json:"at"`
	Span    time.Duration `json:"span"`
	Seen    time.Duration `json:"seen"` // of the span
	Goodput *unit.BitRate `json:"goodput_bps"`
	Least   *unit.BitRate `json:"least_bps"`
	Most    *unit.BitRate `json:"most_bps"`
	Ceiling *unit.BitRate `json:"ceiling_bps"`
	// Share is what was carried of what could have been, while that was known.
	Share  *float64       `json:"share_of_ceiling"`
	Shown  []Shown        `json:"shown"` // the longest first
	RTT50  *time.Duration `json:"rtt_p50"`
	RTT99  *time.Duration `json:"rtt_p99"`
	Resent *float64       `json:"resent_share"`
}

// Shown is a state with its shares.
type Shown struct {
	watch.Named
	For     time.Duration `json:"for"`
	OfBytes float64       `json:"share_of_bytes"` // of all that the path carried
}

// Row is what a path's sums say.
func (p Path) Row(at time.Time, span time.Duration) Row {
	r := Row{At: at, Span: span, Seen: p.Seen(), Goodput: p.Goodput(), Ceiling: p.MeanCeiling(), Shown: []Shown{}}
	long, bytes := p.Known()
	if long > 0 {
		r.Least, r.Most = &p.Least, &p.Most
	}
	if p.Ceiling > 0 {
		r.Share = share(p.Under, p.Ceiling)
	}
	for _, x := range p.Parts {
		s := Shown{Named: x.Named, For: x.For}
		if bytes > 0 {
			s.OfBytes = x.Bytes / bytes
		}
		r.Shown = append(r.Shown, s)
	}
	if p.Sent > 0 {
		r.Resent = share(p.Resent, p.Sent)
	}
	if q, ok := p.RTT.Quantile(0.5); ok {
		r.RTT50 = &q
	}
	if q, ok := p.RTT.Quantile(0.99); ok {
		r.RTT99 = &q
	}
	return r
}

func share(part, whole float64) *float64 {
	v := part / whole
	return &v
}

// DigestVersion is the version of Digest's JSON form that this build writes.
const DigestVersion = 1

// Digest is what a stretch of history says of one path.
type Digest struct {
	V       int       `json:"v"`
	Path    string    `json:"path"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Whole   Row       `json:"whole"`
	Rows    []Row     `json:"rows"` // at most 48, to see how it went
	Hosts   []HostRow `json:"hosts"`
	Changes int       `json:"changes"` // of what was shown
	Marks   []Mark    `json:"marks"`
	// Problems say what of the history could not be read.
	Problems []string `json:"problems"`
}

// Mark is something that changed on a host.
type Mark = watch.Mark

// HostRow is what a host did in a stretch of time, in means over the time it was seen.
type HostRow struct {
	Name string        `json:"name"`
	Seen time.Duration `json:"seen"`
	// Busiest is the core that did most.
	Busiest *watch.Core `json:"busiest_core"`
	NICs    []watch.NIC `json:"nics"`
	Ops     []watch.Op  `json:"requests"`
}

// DigestOf says what records hold of a path; false: nothing.
func DigestOf(path string, from, to time.Time, records []Record) (Digest, bool) {
	d := Digest{V: DigestVersion, Path: path, From: from, To: to, Rows: []Row{}, Hosts: []HostRow{}, Marks: []Mark{}, Problems: []string{}}
	all := Merge(from, to.Sub(from), records...)
	i := slices.IndexFunc(all.Paths, func(p Path) bool { return p.Name == path })
	if i < 0 {
		return d, false
	}
	d.Whole = all.Paths[i].Row(from, to.Sub(from))
	for _, r := range Slots(Width(to.Sub(from), 48), records) {
		for _, p := range r.Paths {
			if p.Name == path {
				d.Rows = append(d.Rows, p.Row(r.At, r.Span))
			}
		}
	}
	for _, h := range all.Hosts {
		if Ends(path, h.Name) {
			d.Hosts = append(d.Hosts, h.row())
		}
	}
	for _, e := range all.Events {
		if e.Path == path && e.From.State != "" {
			d.Changes++
		}
	}
	d.Marks = append(d.Marks, MarksOf(all.Marks, path)...)
	return d, true
}

// between stands between the two hosts in the name of a path.
const between = " – "

// Ends tells whether a host is one of a path's: one of the two that it names, or any where it names no
// two, as a mount does.
func Ends(path, host string) bool {
	return !strings.Contains(path, between) || strings.HasPrefix(path, host+between) || strings.HasSuffix(path, between+host)
}

// MarksOf are those of a path's own hosts, and those of no host.
func MarksOf(all []Mark, path string) (out []Mark) {
	for _, m := range all {
		if m.Host == "" || Ends(path, m.Host) {
			out = append(out, m)
		}
	}
	return out
}

// Width is the narrowest round width of slots of which a stretch has no more than most.
func Width(stretch time.Duration, most int) time.Duration {
	const day = 24 * time.Hour
	for _, w := range []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, day} {
		if stretch <= time.Duration(most)*w {
			return w
		}
	}
	return 7 * day
}

// shares are the cores' means.
func (h Host) shares() []watch.Core {
	out, sec := []watch.Core{}, h.Seen.Seconds()
	for _, c := range h.Cores {
		out = append(out, watch.Core{CPU: int(c[0]), User: c[1] / 1e3 / sec, System: c[2] / 1e3 / sec, SoftIRQ: c[3] / 1e3 / sec, Steal: c[4] / 1e3 / sec})
	}
	return out
}

func (h Host) row() HostRow {
	out := HostRow{Name: h.Name, Seen: h.Seen, NICs: []watch.NIC{}, Ops: []watch.Op{}}
	sec := h.Seen.Seconds()
	if sec <= 0 {
		return out
	}
	for _, x := range h.shares() {
		if out.Busiest == nil || x.Busy() > out.Busiest.Busy() {
			out.Busiest = &x
		}
	}
	for _, n := range h.NICs {
		x := watch.NIC{Name: n.Name, In: unit.BitRate(8 * n.In / sec), Out: unit.BitRate(8 * n.Out / sec), Drops: n.Drops / sec, Errors: n.Errors / sec}
		if n.Pauses != nil {
			p := *n.Pauses / sec
			x.Pauses = &p
		}
		out.NICs = append(out.NICs, x)
	}
	for _, o := range h.Ops {
		if o.Count > 0 {
			out.Ops = append(out.Ops, watch.Op{Name: o.Name, Rate: o.Count / sec, Mean: time.Duration(float64(o.Time) / o.Count), Queue: time.Duration(float64(o.Queue) / o.Count)})
		}
	}
	slices.SortFunc(out.Ops, func(a, b watch.Op) int { return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(a.Name, b.Name)) })
	return out
}

// Picture is a record as a view would have shown it: what was shown longest, and means. It has
// neither a verdict nor connections: those are not kept. False: the path is not in it.
func (r Record) Picture(path string) (watch.Picture, bool) {
	i := slices.IndexFunc(r.Paths, func(p Path) bool { return p.Name == path })
	if i < 0 || len(r.Paths[i].Parts) == 0 {
		return watch.Picture{}, false
	}
	row := r.Paths[i].Row(r.At, r.Span)
	p := watch.Picture{V: watch.PictureVersion, At: r.End(), Path: path, Shown: row.Shown[0].Named, Window: r.Span, Covers: r.Span, Ceiling: row.Ceiling, Conns: []watch.Conn{},
		Hosts: []watch.Host{}, Why: "from history: shown for " + row.Shown[0].For.Round(time.Second).String() + " of " + r.Span.String()}
	if row.Goodput != nil {
		p.Goodput = *row.Goodput
	}
	for _, h := range r.Hosts {
		if !Ends(path, h.Name) {
			continue
		}
		x := h.row()
		p.Hosts = append(p.Hosts, watch.Host{Name: h.Name, Heard: r.End(), Cores: h.shares(), NICs: x.NICs, Ops: x.Ops})
	}
	return p, true
}
