package delta

import (
	"bytes"
	"math/bits"
)

// mostDigits is the longest number that is told by its growth.
const mostDigits = 18

// scales are what counters of kernels grow by a multiple of: one, and of nanoseconds the microsecond,
// the millisecond and the tick of /proc/stat.
var scales = [4]int64{1, 1e3, 1e6, 1e7}

// slot is one number of a frame, and how it grew before: what it does next is likely the same.
type slot struct {
	last    int64
	moved   uint8 // bits of the last three times, 1 where it changed
	literal uint8 // it was no number that has a growth
	scale   uint8 // of its last growth, and in that
	minus   uint8
	size    uint8 // in bits
	top     uint8 // the bits after the highest
	like    uint8 // how many numbers before it is one that grew by as much
	liked   uint8 // it grew by as much as that last time
}

// grown is by how much the numbers before one in its text grew.
type grown struct {
	by [32]int64
	n  int
}

func (g *grown) add(d int64) {
	g.by[g.n%len(g.by)] = d
	g.n++
}

// before is the growth so many numbers before; 0: there is none.
func (g *grown) before(at uint8) int64 {
	if at == 0 || int(at) > min(g.n, len(g.by)) {
		return 0
	}
	return g.by[(g.n-int(at))%len(g.by)]
}

// find is how many numbers before is one that grew by as much; 0: none of the last.
func (g *grown) find(d int64) uint8 {
	for at := range uint8(min(g.n, len(g.by))) {
		if g.before(at+1) == d {
			return at + 1
		}
	}
	return 0
}

// Growths are told by their highest bits, of which topBits are learnt, of those of less than topSizes
// bits each for itself.
const (
	topBits  = 3
	topSizes = 20
	sizes    = 32 // after numbers of more bits all are expected alike
	// fineBits follow them in a growth of which no more is told, since the others are 0: see Rounded.
	fineBits = 5
)

// Rounded is the growth nearest to one, and no larger, that is told in few bits. It has the nine highest
// bits, so that less than 1/256 of it is left out.
func Rounded(d int64) int64 {
	at, m, minus := scaled(d)
	if low := bits.Len64(m) - 1 - topBits - fineBits; low > 0 {
		m = m >> low << low
	}
	if d = int64(m) * scales[at]; minus == 1 {
		d = -d
	}
	return d
}

// chances are what is known of the growths of numbers.
type chances struct {
	same    [2]uint16 // that a frame is the one before
	literal [2]uint16
	still   [8]uint16 // that a number does not change, after what it did three times
	scale   [4][4]uint16
	minus   [2]uint16
	size    [sizes / 2][64]uint16
	top     [topSizes][1 << topBits][1 << topBits]uint16
	like    [2]uint16 // that a number does not grow as another one, after whether it did
	rounded [2]uint16 // that a growth is not, after the one before it
	round   uint8
}

func newChances() *chances {
	c := &chances{}
	fill(c.same[:], c.literal[:], c.still[:], c.minus[:], c.like[:], c.rounded[:])
	for i := range c.scale {
		fill(c.scale[i][:])
	}
	for i := range c.size {
		fill(c.size[i][:])
	}
	for i := range c.top {
		for k := range c.top[i] {
			fill(c.top[i][k][:])
		}
	}
	return c
}

func fill(lists ...[]uint16) {
	for _, l := range lists {
		for i := range l {
			l[i] = even
		}
	}
}

// growth passes by how much a number grew, of which what those before it in the text did is known.
func (k *chances) growth(c coder, s *slot, others *grown, d int64) int64 {
	moves := uint(0)
	if d != 0 {
		moves = 1
	}
	moves = c.bit(&k.still[s.moved], moves)
	s.moved = s.moved<<1&7 | uint8(moves)
	if moves == 0 {
		d = 0
	} else {
		d = k.moved(c, s, others, d)
	}
	others.add(d)
	return d
}

// moved passes a growth that is not 0: that it is another number's, or what it is.
func (k *chances) moved(c coder, s *slot, others *grown, d int64) int64 {
	if other := others.before(s.like); other != 0 {
		if s.liked = uint8(c.bit(&k.like[s.liked], flag(d == other))); s.liked == 1 {
			return other
		}
	}
	at, m, minus := scaled(d)
	s.scale = uint8(tree(c, k.scale[s.scale][:], at, 2))
	s.minus = uint8(c.bit(&k.minus[s.minus], minus))
	m = k.magnitude(c, s, m)
	d = int64(m) * scales[s.scale]
	if s.minus == 1 {
		d = -d
	}
	if like := others.find(d); like != 0 {
		s.like = like
	}
	return d
}

// scaled is a growth as a magnitude in the largest scale of which it is a multiple.
func scaled(d int64) (at uint, m uint64, minus uint) {
	if d < 0 {
		d, minus = -d, 1
	}
	for i := len(scales) - 1; i > 0 && at == 0; i-- {
		if d%scales[i] == 0 {
			at = uint(i)
		}
	}
	return at, uint64(d / scales[at]), minus
}

// magnitude passes a number above 0: how many bits it has, the highest of them, and the others, or of those
// the highest alone where they are all it has.
func (k *chances) magnitude(c coder, s *slot, m uint64) uint64 {
	size := int(tree(c, k.size[min(s.size, sizes-1)/2][:], uint(bits.Len64(m)), 6))
	s.size = uint8(size)
	if size == 0 { // no packer writes that
		return 0
	}
	n := min(topBits, size-1)
	rest := size - 1 - n
	top := tree(c, k.top[min(size, topSizes-1)][s.top][:], uint(m>>rest)&(1<<n-1), n)
	s.top = uint8(top << (topBits - n))
	low := max(0, rest-fineBits)
	if low > 0 {
		if k.round = uint8(c.bit(&k.rounded[k.round], flag(m&(1<<low-1) == 0))); k.round == 0 {
			low = 0
		}
	}
	return 1<<(size-1) | uint64(top)<<rest | c.plain(m&(1<<rest-1)>>low, rest-low)<<low
}

// shared is how many bytes at the beginning and at the end of a frame are those of the one before.
func shared(before, now []byte) (head, tail int) {
	short := min(len(before), len(now))
	for head < short && before[head] == now[head] {
		head++
	}
	for tail < short-head && before[len(before)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	return head, tail
}

// carry moves what is known of the numbers of a frame to those of another, n in number, that begins and
// ends as it does.
func carry(old []slot, begins, ends []byte, n int) []slot {
	out := make([]slot, n)
	copy(out, old[:bytes.Count(begins, []byte{place})])
	last := bytes.Count(ends, []byte{place})
	copy(out[n-last:], old[len(old)-last:])
	return out
}

// split takes a text apart.
func split(text []byte) (frame []byte, found [][]byte) {
	frame = make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			i++
		}
		if i > from {
			frame, found = append(frame, place), append(found, text[from:i])
			continue
		}
		frame = append(frame, text[i])
		i++
	}
	return frame, found
}

// number is the number of digits that are its only spelling.
func number(digits []byte) (int64, bool) {
	if len(digits) > mostDigits || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	v := int64(0)
	for _, d := range digits {
		v = 10*v + int64(d-'0')
	}
	return v, true
}
