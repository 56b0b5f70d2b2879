package past

import (
	"slices"
	"time"

	"linerate/internal/watch"
)

// Trail remembers what was shown of paths lately and what changed on their hosts, for a view that
// keeps no history. The zero value is ready.
type Trail struct {
	gather Gather
	kept   []Record
}

// mostTrail is how much a trail keeps: a quarter of an hour by the second, as a page does; of
// records of a history 900.
const mostTrail = 15 * 60

// Add takes the pictures of one moment.
func (t *Trail) Add(all []watch.Picture) {
	t.gather.Span = time.Second
	fresh := t.gather.Add(all)
	if len(all) > 0 && all[0].Covers > 0 { // of history: a picture says how long it stands for
		fresh = []Record{covered(all)}
	}
	for _, r := range fresh {
		r.Hosts = nil
		for i := range r.Paths {
			r.Paths[i].RTT = nil
		}
		// A clock that was set back shows some time again.
		t.kept = slices.DeleteFunc(t.kept, func(k Record) bool { return !k.At.Before(r.At) })
		t.kept = append(t.kept, r)
	}
	if len(t.kept) > 0 {
		from := t.kept[len(t.kept)-1].End().Add(-mostTrail * t.widest())
		t.kept = slices.DeleteFunc(t.kept, func(k Record) bool { return k.At.Before(from) })
	}
}

// covered is a record of pictures that know how long they stand for.
func covered(all []watch.Picture) Record {
	long := all[0].Covers
	g := Gather{Span: long, open: indexed{Record: Record{At: all[0].At.Add(-long), Span: long}}}
	for _, p := range all {
		g.open.path(p.Path).show(p, long)
	}
	g.changes(all)
	return g.Close()[0]
}

func (t *Trail) widest() (span time.Duration) {
	for _, r := range t.kept {
		span = max(span, r.Span)
	}
	return span
}

// Strip is what was shown of a path in columns of the same width, the oldest first.
type Strip struct {
	From    time.Time
	Width   time.Duration
	Columns []*Row       // nil: nothing was seen then
	Marks   []watch.Mark // in order of time
}

// To is where it ends.
func (s Strip) To() time.Time { return s.From.Add(time.Duration(len(s.Columns)) * s.Width) }

// Column is that in which a time lies; -1: in none.
func (s Strip) Column(at time.Time) int {
	if at.Before(s.From) || !at.Before(s.To()) {
		return -1
	}
	return int(at.Sub(s.From) / s.Width)
}

// steps are how many of the widest record a column of a strip may hold.
var steps = []int{1, 2, 3, 5, 10, 15, 20, 30, 60, 120}

// Strip is all that is remembered of a path but its round trips, in at most so many columns. Without
// any column the path was not seen.
func (t *Trail) Strip(path string, columns int) (s Strip) {
	if len(t.kept) == 0 || columns <= 0 {
		return s
	}
	n, end := 0, t.kept[len(t.kept)-1].End()
	for _, k := range steps {
		s.Width = time.Duration(k) * t.widest()
		s.From = t.kept[0].At.Truncate(s.Width)
		if n = int((end.Sub(s.From) + s.Width - 1) / s.Width); n <= columns {
			break
		}
	}
	s.From = s.From.Add(time.Duration(max(0, n-columns)) * s.Width)
	s.Columns = make([]*Row, min(n, columns))
	its := t.of(path)
	for _, r := range Slots(s.Width, its) {
		if i := s.Column(r.At); i >= 0 {
			row := r.Paths[0].Row(r.At, r.Span)
			s.Columns[i] = &row
		}
	}
	if len(its) == 0 {
		s.Columns = nil
	}
	for _, r := range t.kept {
		for _, m := range MarksOf(r.Marks, path) {
			if s.Column(m.At) >= 0 {
				s.Marks = append(s.Marks, m)
			}
		}
	}
	slices.SortStableFunc(s.Marks, func(a, b watch.Mark) int { return a.At.Compare(b.At) })
	return s
}

// of are the records of one path alone.
func (t *Trail) of(path string) (out []Record) {
	for _, r := range t.kept {
		if i := slices.IndexFunc(r.Paths, func(p Path) bool { return p.Name == path }); i >= 0 {
			out = append(out, Record{At: r.At, Span: r.Span, Paths: r.Paths[i : i+1]})
		}
	}
	return out
}
