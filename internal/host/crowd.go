package host

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
)

// A host with very many connections tells some of them one by one, and what all of them did as sums
// (model.ConnTotal): the sums lose nothing, whichever connections are told.
const (
	// BriefConns is how many connections a sample may have, all told one by one, while nobody looks at the
	// host. While somebody does it is measure.CloseConns.
	BriefConns = 600
	// crowdApart is the time between two samples of a crowd that somebody looks at: which limits each
	// connection cannot be told of it anyway, and reading very many takes long.
	crowdApart = time.Second
	// missed is for how many samples a connection is remembered that is gone: while others come and go the
	// kernel's list may miss one, and what it moved meanwhile counts once it is listed again.
	missed = 3
	// lonely is for how long the sum of a peer is told that has no connection.
	lonely = time.Minute
	// mostLarge of those that grow most are told, and mostInTurn of the others, each in stay samples.
	mostLarge  = 256
	mostInTurn = 24
	stay       = 3
	// atOnce is how many may take another's place in one sample because they grew more: a connection that
	// was not in the sample before takes much room. They have to have grown by half as much again.
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
	turn   []connKey             // that are told for a while, the oldest first
}

// connKey identifies a connection, also against an earlier one with the same ports.
type connKey struct {
	local, remote netip.AddrPort
	inode         uint32
}

func keyOf(c model.Conn) connKey { return connKey{c.Local, c.Remote, c.Inode} }

// member is a connection of a crowd.
type member struct {
	at     int   // its place in the sample
	seen   int   // the sample that it was in last
	told   int   // the sample that it was told in last; 0: none
	grows  int64 // bytes that it moved lately
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
		c.known, c.totals = map[connKey]*member{}, map[netip.Addr]*total{}
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
	c.choose()
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
	m := c.known[keyOf(x)]
	if m == nil { // it counts from here on
		c.known[keyOf(x)] = &member{at: i, seen: c.n, before: countsOf(x), grows: x.BytesAcked + x.BytesReceived}
		return
	}
	now := countsOf(x)
	m.grows = m.grows/2 + sum(&t.ConnTotal, m.before, now, c.took)
	m.at, m.seen, m.before = i, c.n, now
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

// choose has those told that grow most, and of the others those that were not told for longest.
func (c *crowd) choose() {
	c.turn = c.turn[min(len(c.turn), max(0, len(c.turn)-mostInTurn+mostInTurn/stay)):]
	gone := func(k connKey) bool { return c.known[k] == nil || c.known[k].seen != c.n }
	c.turn = slices.DeleteFunc(c.turn, gone)
	in := map[connKey]bool{}
	for _, k := range slices.Concat(c.large, c.turn) {
		in[k] = true
	}
	var others []connKey
	for k := range c.known {
		if !in[k] && !gone(k) {
			others = append(others, k)
		}
	}
	slices.SortFunc(others, func(a, b connKey) int { return c.order(a, b, true) })
	others = c.enlarge(others, gone)
	slices.SortFunc(others, func(a, b connKey) int { return c.order(a, b, false) })
	c.turn = append(c.turn, others[:min(len(others), mostInTurn-len(c.turn))]...)
	for _, k := range slices.Concat(c.large, c.turn) {
		c.known[k].told = c.n
	}
}

// order is which of two is told first: the one that grows more, or the one that was told longer ago.
func (c *crowd) order(a, b connKey, bySize bool) int {
	x, y := c.known[a], c.known[b]
	told := 0
	if !bySize {
		told = cmp.Compare(x.told, y.told)
	}
	return cmp.Or(told, cmp.Compare(y.grows, x.grows), a.local.Compare(b.local), a.remote.Compare(b.remote), cmp.Compare(a.inode, b.inode))
}

// enlarge gives the places of connections that are gone, or grow by far less, to the first of others, and returns the
// rest of these. One that comes takes the place of one that goes, since then little else of the text changes.
func (c *crowd) enlarge(others []connKey, gone func(connKey) bool) []connKey {
	var small []int // places, those of the slowest first
	for i, k := range c.large {
		if gone(k) && len(others) > 0 {
			c.large[i], others = others[0], others[1:]
		}
	}
	c.large = slices.DeleteFunc(c.large, gone)
	for i := range c.large {
		small = append(small, i)
	}
	slices.SortFunc(small, func(a, b int) int { return c.order(c.large[b], c.large[a], true) })
	for n := 0; n < min(atOnce, len(small)) && len(others) > 0; n++ {
		old, k := c.large[small[n]], others[0]
		if c.known[k].grows <= c.known[old].grows*3/2 {
			break
		}
		c.large[small[n]], others = k, append(others[1:], old)
	}
	more := min(len(others), mostLarge-len(c.large), atOnce)
	if c.n == 1 {
		more = min(len(others), mostLarge)
	}
	c.large = append(c.large, others[:more]...)
	return others[more:]
}

// fewer has a quarter less told of those that grow most; false: none is left of them.
func (c *crowd) fewer() bool {
	if !c.on || len(c.large) == 0 {
		return false
	}
	c.large = c.large[:len(c.large)*3/4]
	return true
}

// tell is the sample that was taken with the connections that were chosen, and the sums of all.
func (c *crowd) tell(s model.Sample) model.Sample {
	if !c.on {
		return s
	}
	all := s.Conns
	s.Conns = make([]model.Conn, 0, len(c.large)+len(c.turn))
	for _, k := range slices.Concat(c.large, c.turn) {
		s.Conns = append(s.Conns, all[c.known[k].at])
	}
	s.Totals = make([]model.ConnTotal, 0, len(c.totals))
	for _, t := range c.totals {
		s.Totals = append(s.Totals, t.ConnTotal)
	}
	slices.SortFunc(s.Totals, func(a, b model.ConnTotal) int { return a.Remote.Compare(b.Remote) })
	return s
}
