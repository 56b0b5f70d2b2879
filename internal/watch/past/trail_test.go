package past

import (
	"reflect"
	"testing"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
)

// follow shows a path for some seconds in one state.
func follow(t *Trail, from time.Time, seconds int, n watch.Named, goodput unit.BitRate, marks ...watch.Mark) time.Time {
	for i := range seconds {
		p := picture(from.Add(time.Duration(i)*time.Second), n, goodput)
		if i == 0 {
			p.Hosts[0].Marks = marks
		}
		t.Add([]watch.Picture{p})
	}
	return from.Add(time.Duration(seconds) * time.Second)
}

// states are what a strip shows, a letter a column.
func states(s Strip) (out string) {
	for _, c := range s.Columns {
		switch {
		case c == nil:
			out += " "
		case c.Shown[0].Named == loss:
			out += "L"
		default:
			out += "-"
		}
	}
	return out
}

func TestTrailShowsBandsGapsAndMarks(t *testing.T) {
	var trail Trail
	if s := trail.Strip("a – b", 60); len(s.Columns) != 0 {
		t.Errorf("of nothing: %+v", s)
	}
	idle := watch.Named{State: watch.Idle}
	mark := watch.Mark{At: noon.Add(4 * time.Second), Kind: watch.MarkTuned, Host: "a", What: "x"}
	old := watch.Mark{At: noon.Add(-time.Hour), Kind: watch.MarkTuned, Host: "a", What: "long ago"}
	follow(&trail, noon, 5, loss, 800*unit.Mbit)
	at := follow(&trail, noon.Add(5*time.Second), 4, idle, 0, mark, old)
	at = at.Add(6 * time.Second) // longer than one picture stands for
	follow(&trail, at, 4, loss, 400*unit.Mbit)
	s := trail.Strip("a – b", 60)
	// A picture stands for the time before it, and the last second is not over.
	if got := states(s); got != "LLLL----       LL" || s.Width != time.Second || !s.From.Equal(noon) {
		t.Errorf("%q from %v by %v", got, s.From, s.Width)
	}
	if !reflect.DeepEqual(s.Marks, []watch.Mark{mark}) || s.Column(mark.At) != 4 || s.Column(s.To()) != -1 || s.Column(noon.Add(-1)) != -1 {
		t.Errorf("marks %+v", s.Marks)
	}
	if r := s.Columns[0]; *r.Goodput != 800*unit.Mbit || *r.Ceiling != 1000*unit.Mbit {
		t.Errorf("%+v", r)
	}
	if s := trail.Strip("another", 60); len(s.Columns) != 0 {
		t.Errorf("of another path: %+v", s)
	}
}

// Columns widen so that all that is remembered fits, and what is older than that is forgotten.
func TestTrailFitsAndForgets(t *testing.T) {
	for _, c := range []struct {
		seconds, columns int
		width            time.Duration
	}{{50, 60, time.Second}, {100, 60, 2 * time.Second}, {400, 60, 10 * time.Second}, {2000, 60, 20 * time.Second}, {2000, 100, 10 * time.Second}, {2000, 3, 2 * time.Minute}} {
		var trail Trail
		end := follow(&trail, noon, c.seconds, loss, unit.Gbit)
		s := trail.Strip("a – b", c.columns)
		if s.Width != c.width || len(s.Columns) > c.columns || len(trail.kept) > mostTrail+1 {
			t.Errorf("%d s in %d columns: %d of %v, %d kept", c.seconds, c.columns, len(s.Columns), s.Width, len(trail.kept))
		}
		if gap := end.Sub(s.To()); gap > 2*time.Second {
			t.Errorf("%d s: the strip ends %v before the newest", c.seconds, gap)
		}
		for i, r := range s.Columns {
			if r == nil || *r.Goodput != unit.Gbit {
				t.Errorf("%d s: column %d is %+v", c.seconds, i, r)
			}
		}
	}
}

// A clock that is set back shows some time again: it is in the strip once.
func TestTrailOfAClockThatGoesBack(t *testing.T) {
	var trail Trail
	follow(&trail, noon, 30, loss, unit.Gbit)
	follow(&trail, noon.Add(10*time.Second), 10, watch.Named{State: watch.Idle}, 0)
	s := trail.Strip("a – b", 60)
	if got := states(s); got != "LLLLLLLLLL--------" {
		t.Errorf("%q", got)
	}
}

// Pictures of history stand for as long as their records.
func TestTrailOfHistory(t *testing.T) {
	g := Gather{Span: 10 * time.Second}
	records := fill(&g, noon, 60*time.Second, time.Second, loss, 800*unit.Mbit)
	var trail Trail
	for i, r := range records {
		p, ok := r.Picture("a – b")
		if !ok {
			t.Fatal("no picture")
		}
		if i == 2 { // it was not seen then
			continue
		}
		trail.Add([]watch.Picture{p})
	}
	s := trail.Strip("a – b", 60)
	if got := states(s); got != "LL LLL"[:len(records)] || s.Width != 10*time.Second || *s.Columns[0].Goodput != 800*unit.Mbit || s.Columns[0].Seen != 10*time.Second {
		t.Errorf("%q by %v of %d records: %+v", got, s.Width, len(records), s.Columns[0])
	}
}
