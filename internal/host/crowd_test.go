package host

import (
	"net/netip"
	"slices"
	"testing"
	"time"

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
		if want := busy + mostInTurn; n > 0 && len(is.Conns) != want || len(told) != len(is.Conns) || is.Totals[0].Conns != len(h.s.Conns) {
			t.Fatalf("sample %d tells %d connections, %d of them once, of %+v", n, len(is.Conns), len(told), is.Totals)
		}
		for _, x := range moved {
			if n > 0 && !told[keyOf(x)] {
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

// tellsAll takes a sample of a crowd, in which some connections move so much, and tells whether these are told.
func tellsAll(c *crowd, h *working, moves []int, bytes int64) bool {
	h.s.At += 1e9
	h.s.Conns = slices.Clone(h.s.Conns)
	for _, i := range moves {
		h.s.Conns[i].BytesAcked += bytes
	}
	c.take(h.s)
	told := map[connKey]bool{}
	for _, x := range c.tell(h.s).Conns {
		told[keyOf(x)] = true
	}
	return !slices.ContainsFunc(moves, func(i int) bool { return !told[keyOf(h.s.Conns[i])] })
}

func someOf(from, n int) (out []int) {
	for i := range n {
		out = append(out, from+i)
	}
	return out
}

// Who begins to move data is told in that very sample and from then on, whatever others moved in their life, and
// however many others do at the same time, as long as there is room; so is a connection that is new.
func TestACrowdTellsAtOnceWhoMoves(t *testing.T) {
	h, c := newWorking(2, 1, 3000), crowd{most: BriefConns}
	for i := range h.s.Conns {
		h.s.Conns[i].BytesAcked = int64(i%7) << 38
	}
	for n := range 5 {
		if tellsAll(&c, h, nil, 0); n > 0 && len(c.large) > 0 {
			t.Fatalf("sample %d: %d connections are told that move nothing", n, len(c.large))
		}
	}
	for _, x := range []struct {
		moves []int
		bytes int64
	}{{someOf(2000, 4), 1e6}, {someOf(2000, 4), 1e6}, {nil, 0}, {someOf(100, 200), 2e4}, {someOf(2000, 4), 1e6}, {someOf(100, 1), 1e9}, {someOf(60, 250), 3e4}} {
		if !tellsAll(&c, h, x.moves, x.bytes) {
			t.Errorf("of %d that move %d bytes some are not told", len(x.moves), x.bytes)
		}
	}
	if tellsAll(&c, h, nil, 0); len(c.large) < 200 {
		t.Errorf("%d are told that moved data lately", len(c.large))
	}
	new := h.s.Conns[0]
	new.Inode, new.BytesAcked = 77, 1e6
	h.s.Conns = append(slices.Clone(h.s.Conns), new)
	if !tellsAll(&c, h, []int{3000}, 0) {
		t.Error("a new connection is not told")
	}
	h.s.Conns[5].Backoff, h.s.Conns[5].Unacked = 3, 10
	if !tellsAll(&c, h, []int{5}, 0) {
		t.Error("one that is stuck is not told")
	}
}

// The few that move data to one peer are told beside the thousands that move more to another.
func TestACrowdTellsThePeerWithFew(t *testing.T) {
	h, c := newWorking(2, 1, 3000), crowd{most: BriefConns}
	few := someOf(1500, 4)
	for _, i := range few {
		h.s.Conns[i].Remote = netip.MustParseAddrPort("10.0.0.9:2049")
	}
	for n := range 40 {
		for i := range h.s.Conns {
			h.s.Conns[i].BytesAcked += int64(1e6 + i*n%1000)
		}
		if told := tellsAll(&c, h, few, -900e3); n > 0 && !told || len(c.large) > mostLarge {
			t.Fatalf("sample %d tells %d connections, and not those to the peer with few", n, len(c.large))
		}
	}
	if len(c.large) != mostLarge {
		t.Errorf("%d connections are told where all move data", len(c.large))
	}
}

// Where too few have room in a message, those go that move least.
func TestACrowdThatTellsFewerTellsTheFastest(t *testing.T) {
	h, c := newWorking(2, 1, 3000), crowd{most: BriefConns}
	for range 3 {
		for i := range 100 {
			h.s.Conns[i].BytesAcked += int64(1e6 + 1e5*i)
		}
		tellsAll(&c, h, nil, 0)
	}
	if !c.fewer() || len(c.large) != 75 || slices.ContainsFunc(c.large, func(k connKey) bool { return c.known[k].before.acked < 3*35e5 }) {
		t.Errorf("%d are told", len(c.large))
	}
	for c.fewer() {
	}
	for range mostLarge / atOnce {
		tellsAll(&c, h, someOf(0, 100), 1e6)
	}
	if !tellsAll(&c, h, someOf(0, 100), 1e6) {
		t.Error("those that move are not told again")
	}
}

// A crowd that takes long to read is read more seldom, and other hosts are read as often as they are asked for.
func TestACrowdIsReadAsOftenAsItCosts(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		crowd bool
		every time.Duration
		reads []time.Duration
		want  int
	}{{false, 100 * ms, []time.Duration{90 * ms}, 0}, {true, 100 * ms, []time.Duration{12 * ms}, 0}, {true, 100 * ms, []time.Duration{80 * ms}, 1},
		{true, 100 * ms, []time.Duration{900 * ms, 80 * ms, 12 * ms, 70 * ms}, 0}, {true, 100 * ms, append([]time.Duration{12 * ms}, slices.Repeat([]time.Duration{900 * ms}, 8)...), 8},
		{true, time.Second, []time.Duration{900 * ms}, 0}, {true, 100 * ms, nil, 0}} {
		s := sampling{every: x.every, crowd: crowd{on: x.crowd}}
		for _, r := range x.reads {
			s.took(r)
		}
		if got := s.rest(); got != x.want {
			t.Errorf("%+v: %d are left out", x, got)
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
