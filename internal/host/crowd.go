package host

import (
	"cmp"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
)

// A host with very many connections tells some of them one by one, and what all of them did as sums
// (model.ConnTotal): the sums have all that connections moved from the
// sample on in which each was seen first, whichever are told.
const (
	// BriefConns is how many connections a sample may have, all told one by one, while nobody looks at the
	// host. While somebody does it is measure.CloseConns.
	BriefConns = 600
	// crowdReads is how many times as long as reading a crowd takes it is to the next reading at least, and
	// crowdApart the most that it is for that; less than a second, so that it is known from a host that was
	// not to be read more often.
	crowdReads = 2
	crowdApart = 900 * time.Millisecond
	// missed is for how many samples a connection is remembered that is gone: while others come and go the
	// kernel's list may miss one, and what it moved meanwhile counts once it is listed again.
	missed = 3
	// lonely is for how long the sum of a peer is told that has no connection.
	lonely = time.Minute
	// mostLarge of those that move data are told, and mostInTurn of the others, each in stay samples.
	mostLarge  = measure.MovingConns
	mostInTurn = 24
	stay       = 3
	// What is told of a peer's connections is all but this share of what they moved since the sample before, if
	// that was as much as little bytes a second.
	spared = 0.001
	little = 4 << 10
	// lately is for how long a connection is told that moved, where there is room.
	lately = 30 * time.Second
	// atOnce is how many may be told in one sample beside those that have to be: one that was not in the sample
	// before takes much room. To take the place of another it has to grow by half as much again.
	atOnce = 8
	// crowdEnds: with so many fourths of the connections from which on it is a crowd, it is one no more.
	crowdEnds = 3
)

// crowd chooses the connections that are told one by one. The zero value chooses all.
type crowd struct {
	most int // how many are told without a choice; 0: any number

	on     bool
	n      int           // number of the sample
	when   time.Duration // it was taken
	took   time.Duration // since the one before
	known  map[connKey]*member
	totals map[netip.Addr]*total // by peer
	large  []connKey             // that are told for what they move, each at its place
	room   int                   // for how many of them there is
	turn   []passing             // that are told for a while, each at its place
}

// passing is a connection that is told until a sample.
type passing struct {
	connKey
	until int
}

// connKey identifies a connection, also against an earlier one with the same ports.
type connKey struct {
	local, remote netip.AddrPort
	inode         uint32
}

func keyOf(c model.Conn) connKey { return connKey{c.Local, c.Remote, c.Inode} }

// member is a connection of a crowd.
type member struct {
	at     int           // its place in the sample
	seen   int           // the sample that it was in last
	told   int           // the sample that it was told in last; 0: none
	grew   int64         // bytes that it moved since the sample before
	grows  int64         // and lately
	moved  time.Duration // when it was to be told for that last
	stuck  bool          // what it has sent is not answered
	before counts
}

// total is the sum of the connections to a peer, and when it had one last.
type total struct {
	model.ConnTotal
	last time.Duration
}

// counts are the counters of a connection that are summed.
type counts struct {
	acked, received      int64
	busy, window, buffer time.Duration
}

func countsOf(c model.Conn) counts {
	return counts{c.BytesAcked, c.BytesReceived, c.Busy, c.RwndLimited, c.SndbufLimited}
}

// take notes what the connections of the next sample did, and chooses which are told.
func (c *crowd) take(s model.Sample) {
	if c.on = c.most > 0 && (len(s.Conns) > c.most || c.on && 4*len(s.Conns) > crowdEnds*c.most); !c.on {
		*c = crowd{most: c.most}
		return
	}
	if c.known == nil {
		c.known, c.totals, c.room = map[connKey]*member{}, map[netip.Addr]*total{}, mostLarge
	}
	c.n, c.took, c.when = c.n+1, s.At-c.when, s.At
	for _, t := range c.totals {
		t.Conns = 0
	}
	for i, x := range s.Conns {
		c.note(i, x)
	}
	maps.DeleteFunc(c.known, func(_ connKey, m *member) bool { return c.n-m.seen > missed })
	maps.DeleteFunc(c.totals, func(_ netip.Addr, t *total) bool { return s.At-t.last > lonely })
	if c.n == 1 {
		c.guess(s)
	} else {
		c.enlarge()
	}
	c.rotate()
	for k := range c.tells() {
		c.known[k].told = c.n
	}
	if c.n == 1 {
		for _, k := range c.large { // those that are left out of the next sample have their turn yet
			c.known[k].told = 0
		}
	}
}

// note adds what a connection did since the sample before to the sums of its peer.
func (c *crowd) note(i int, x model.Conn) {
	peer := x.Remote.Addr().Unmap()
	t := c.totals[peer]
	if t == nil {
		t = &total{ConnTotal: model.ConnTotal{Remote: peer, Since: c.when}}
		c.totals[peer] = t
	}
	t.Conns, t.last = t.Conns+1, c.when
	m, now := c.known[keyOf(x)], countsOf(x)
	if m == nil { // it counts from here on; what it has moved, it moved since the sample before
		m = &member{grew: now.acked + now.received}
		c.known[keyOf(x)] = m
	} else {
		m.grew = sum(&t.ConnTotal, m.before, now, c.took)
	}
	m.at, m.seen, m.before, m.grows = i, c.n, now, m.grows/2+m.grew
	m.stuck = x.Backoff > 1 && x.Unacked > 0
}

// sum adds to a total what a connection did between two readings, which took so long, and returns how many
// bytes it moved.
func sum(t *model.ConnTotal, a, b counts, took time.Duration) int64 {
	acked, received := max(0, b.acked-a.acked), max(0, b.received-a.received)
	t.BytesAcked, t.BytesReceived = t.BytesAcked+acked, t.BytesReceived+received
	if acked >= received {
		busy := max(0, b.busy-a.busy)
		t.Busy, t.Nothing = t.Busy+busy, t.Nothing+max(0, took-busy)
		t.RwndLimited += max(0, b.window-a.window)
		t.SndbufLimited += max(0, b.buffer-a.buffer)
	}
	return acked + received
}

// guess chooses in the first sample, which shows of no connection what it moves: some have data under way
// or waiting, and what one has moved in its life is little to go by. Who moves nothing is left out of the next.
func (c *crowd) guess(s model.Sample) {
	all := slices.Clone(s.Conns)
	waits := func(x model.Conn) int { return min(1, x.Unacked+int(min(1, x.NotSent+x.RecvQ))) }
	slices.SortFunc(all, func(a, b model.Conn) int {
		return cmp.Or(cmp.Compare(waits(b), waits(a)), c.order(keyOf(a), keyOf(b)))
	})
	for _, x := range all[:min(len(all), mostLarge)] {
		c.large = append(c.large, keyOf(x))
		c.known[keyOf(x)].moved = c.when - lately
	}
}

// enlarge has those told at once that have to be, and some of those for which there is no room. One that comes
// takes the place of one that goes, and the last that of one for which none comes, since then little else of
// the text changes.
func (c *crowd) enlarge() {
	c.room = min(mostLarge, c.room+atOnce)
	needed, wished := c.movers()
	has := map[connKey]bool{}
	for _, k := range needed {
		c.known[k].moved, has[k] = c.when, true
	}
	for _, k := range wished {
		c.known[k].moved = c.when
	}
	free := c.leave(has)
	for _, k := range c.untold(needed) {
		if len(c.large) < c.room {
			c.large = append(c.large, k)
		} else {
			c.large[free[0]], free = k, free[1:]
		}
	}
	more := c.untold(wished)
	for _, k := range more[:min(len(more), atOnce)] {
		switch {
		case len(c.large) < c.room:
			c.large = append(c.large, k)
		case len(free) > 0 && c.known[k].grows > c.known[c.large[free[0]]].grows*3/2:
			c.large[free[0]], free = k, free[1:]
		}
	}
}

// movers are the connections that have to be told, the one that grows most first: those of a peer account then
// for what all to it moved. Wished are those of peers whose are too many for the room that there is.
func (c *crowd) movers() (needed, wished []connKey) {
	peers, told := map[netip.Addr][]connKey{}, map[netip.Addr]int{}
	for k, m := range c.known {
		if m.seen == c.n && (m.grew > 0 || m.stuck) {
			a := k.remote.Addr().Unmap()
			peers[a] = append(peers[a], k)
		}
	}
	for _, k := range c.large {
		told[k.remote.Addr().Unmap()]++
	}
	var all [][]connKey
	for _, keys := range peers {
		if keys = c.busiest(keys); len(keys) > 0 {
			all = append(all, keys)
		}
	}
	slices.SortFunc(all, func(a, b []connKey) int {
		x, y := a[0], b[0]
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(told[y.remote.Addr().Unmap()], told[x.remote.Addr().Unmap()]), c.order(x, y))
	})
	for _, keys := range all {
		if len(needed)+len(keys) <= c.room {
			needed = append(needed, keys...)
		} else {
			wished = append(wished, keys...)
		}
	}
	slices.SortFunc(needed, c.order)
	slices.SortFunc(wished, c.order)
	return needed, wished
}

// busiest are those of a peer's connections that moved all but a small share of what all of them did since the
// sample before, and those that are stuck.
func (c *crowd) busiest(keys []connKey) (out []connKey) {
	all, some := 0.0, 0.0
	for _, k := range keys {
		all += float64(c.known[k].grew)
	}
	if all < little*c.took.Seconds() {
		all = 0
	}
	slices.SortFunc(keys, func(a, b connKey) int {
		return cmp.Or(cmp.Compare(c.known[b].grew, c.known[a].grew), c.order(a, b))
	})
	for _, k := range keys {
		if some < (1-spared)*all || c.known[k].stuck {
			out, some = append(out, k), some+float64(c.known[k].grew)
		}
	}
	return out
}

// leave leaves out those that are gone or moved nothing lately, and returns the places of those that do not
// have to be told, the one that grows least first.
func (c *crowd) leave(needed map[connKey]bool) (free []int) {
	for i := 0; i < len(c.large); {
		if k := c.large[i]; !c.gone(k) && c.when-c.known[k].moved <= lately {
			i++
			continue
		}
		last := len(c.large) - 1
		c.large[i], c.large = c.large[last], c.large[:last]
	}
	for i, k := range c.large {
		if !needed[k] {
			free = append(free, i)
		}
	}
	slices.SortFunc(free, func(a, b int) int { return c.order(c.large[b], c.large[a]) })
	return free
}

// rotate has those told in turn that were not told for longest, each in the place of one whose turn ends.
func (c *crowd) rotate() {
	large, taken := map[connKey]bool{}, map[connKey]bool{}
	for _, k := range c.large {
		large[k], taken[k] = true, true
	}
	ends := func(t passing) bool { return c.n >= t.until || c.gone(t.connKey) || large[t.connKey] }
	for _, t := range c.turn {
		if !ends(t) {
			taken[t.connKey] = true
		}
	}
	var others []connKey
	for k := range c.known {
		if !c.gone(k) && !taken[k] {
			others = append(others, k)
		}
	}
	slices.SortFunc(others, func(a, b connKey) int {
		return cmp.Or(cmp.Compare(c.known[a].told, c.known[b].told), c.order(a, b))
	})
	before := c.turn
	c.turn = nil
	for i := range mostInTurn {
		switch {
		case i < len(before) && !ends(before[i]):
			c.turn = append(c.turn, before[i])
		case len(others) > 0:
			long := stay
			if len(before) == 0 { // so that they do not all end at once
				long = 1 + i%stay
			}
			c.turn, others = append(c.turn, passing{others[0], c.n + long}), others[1:]
		}
	}
}

// gone tells that a connection is not in this sample.
func (c *crowd) gone(k connKey) bool { return c.known[k] == nil || c.known[k].seen != c.n }

// untold are those of a list that are not told for what they move.
func (c *crowd) untold(list []connKey) (out []connKey) {
	told := map[connKey]bool{}
	for _, k := range c.large {
		told[k] = true
	}
	for _, k := range list {
		if !told[k] {
			out = append(out, k)
		}
	}
	return out
}

// order is which of two comes first: the one that grows more.
func (c *crowd) order(a, b connKey) int {
	return cmp.Or(cmp.Compare(c.known[b].grows, c.known[a].grows), a.local.Compare(b.local), a.remote.Compare(b.remote), cmp.Compare(a.inode, b.inode))
}

// fewer has a quarter less told of those that move data, of which those go that grow least; false: none is
// left of them.
func (c *crowd) fewer() bool {
	if !c.on || len(c.large) == 0 {
		return false
	}
	slow := slices.Clone(c.large)
	slices.SortFunc(slow, c.order)
	c.room = len(slow) * 3 / 4
	for _, k := range slow[c.room:] {
		last := len(c.large) - 1
		c.large[slices.Index(c.large, k)], c.large = c.large[last], c.large[:last]
	}
	return true
}

// tells are the connections that are told, in their order: those come first of which there are always as many.
func (c *crowd) tells() iter.Seq[connKey] {
	return func(yield func(connKey) bool) {
		for _, t := range c.turn {
			if !yield(t.connKey) {
				return
			}
		}
		for _, k := range c.large {
			if !yield(k) {
				return
			}
		}
	}
}

// apart is the time between two samples at least, of which reading one takes so long.
func (c *crowd) apart(took time.Duration) time.Duration {
	if !c.on {
		return 0
	}
	return min(crowdApart, crowdReads*took)
}

// tell is the sample that was taken with the connections that were chosen, and the sums of all.
func (c *crowd) tell(s model.Sample) model.Sample {
	if !c.on {
		return s
	}
	all := s.Conns
	s.Conns = make([]model.Conn, 0, len(c.large)+len(c.turn))
	for k := range c.tells() {
		s.Conns = append(s.Conns, all[c.known[k].at])
	}
	s.Totals = make([]model.ConnTotal, 0, len(c.totals))
	for _, t := range c.totals {
		s.Totals = append(s.Totals, t.ConnTotal)
	}
	slices.SortFunc(s.Totals, func(a, b model.ConnTotal) int { return a.Remote.Compare(b.Remote) })
	return s
}
