package host

import (
	"slices"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
)

// Of a crowd those are told that move most, as soon as they do; each of the others is told in its turn, long enough to
// have a rate; and one that ends makes room.
func TestACrowdTellsAllInTurn(t *testing.T) {
	labtest.OneGoroutine(t)
	const conns, busy = 1000, 40
	h, c := newWorking(2, 1, conns), crowd{most: BriefConns}
	moved := h.s.Conns[conns-busy:]
	gone := keyOf(h.s.Conns[3])
	row, most := map[connKey]int{}, map[connKey]int{} // samples in a row, so far and at most
	for n := range conns/(mostInTurn/stay) + 2*stay {
		h.s.At += 7e9
		for i := range moved {
			moved[i].BytesAcked += 1e9
		}
		if n == 20 {
			h.s.Conns = slices.DeleteFunc(h.s.Conns, func(c model.Conn) bool { return keyOf(c) == gone })
			moved = h.s.Conns[len(h.s.Conns)-busy:]
		}
		c.take(h.s)
		is := c.tell(h.s)
		told := map[connKey]bool{}
		for _, x := range is.Conns {
			told[keyOf(x)] = true
		}
		if n >= busy/atOnce && len(is.Conns) < mostLarge || len(is.Conns) > mostLarge+mostInTurn || len(told) != len(is.Conns) || is.Totals[0].Conns != len(h.s.Conns) {
			t.Fatalf("sample %d tells %d connections, %d of them once, of %+v", n, len(is.Conns), len(told), is.Totals)
		}
		for _, x := range moved {
			if n > busy/atOnce && !told[keyOf(x)] {
				t.Fatalf("sample %d does not tell a connection that moves data", n)
			}
		}
		for _, x := range h.s.Conns {
			if k := keyOf(x); told[k] {
				row[k]++
				most[k] = max(most[k], row[k])
			} else {
				row[k] = 0
			}
		}
		if want := int64(n) * busy * 1e9; is.Totals[0].BytesAcked != want {
			t.Fatalf("sample %d: all are told to have moved %d bytes, want %d", n, is.Totals[0].BytesAcked, want)
		}
	}
	if delete(most, gone); len(most) != conns-1 {
		t.Errorf("%d of %d connections were told", len(most), conns-1)
	}
	for k, n := range most {
		if row[k] == 0 && n < stay { // else it may be told in the next sample too
			t.Errorf("%v was told in %d samples in a row, and no more", k, n)
		}
	}
}

// A host whose connections become few again tells all of them.
func TestACrowdEnds(t *testing.T) {
	h, c := newWorking(2, 1, BriefConns+1), crowd{most: BriefConns}
	for _, x := range []struct {
		conns int
		crowd bool
	}{{BriefConns, false}, {BriefConns + 1, true}, {BriefConns - 1, true}, {BriefConns / 2, false}} {
		s := h.s
		s.Conns = s.Conns[:x.conns]
		c.take(s)
		if is := c.tell(s); (is.Totals != nil) != x.crowd || !x.crowd && len(is.Conns) != x.conns {
			t.Errorf("of %d connections %d are told, with %v", x.conns, len(is.Conns), is.Totals)
		}
	}
}

// What a connection moved counts also where the kernel's list did not have it for a sample.
func TestACrowdMissesNothing(t *testing.T) {
	h, c := newWorking(2, 1, BriefConns+2), crowd{most: BriefConns}
	for n, missing := range []bool{false, true, false, false} {
		s := h.s
		s.Conns = slices.Clone(s.Conns)
		for i := range s.Conns {
			s.Conns[i].BytesAcked = int64(n) * 1e6
		}
		if missing {
			s.Conns = s.Conns[1:]
		}
		c.take(s)
		is := c.tell(s)
		want := int64(n) * int64(len(h.s.Conns)) * 1e6
		if missing {
			want -= 1e6
		}
		if is.Totals[0].BytesAcked != want || slices.ContainsFunc(is.Conns, func(x model.Conn) bool { return missing && keyOf(x) == keyOf(h.s.Conns[0]) }) {
			t.Errorf("sample %d: %d bytes, want %d", n, is.Totals[0].BytesAcked, want)
		}
	}
}
