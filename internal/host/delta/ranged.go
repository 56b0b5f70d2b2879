package delta

import "bytes"

// The range coder of LZMA (Pavlov, LZMA specification, 2015; after Martin 1979): each bit takes as much
// room as it is a surprise, and how likely it is is learnt from those before it in the same place.
const (
	chanceBits = 11
	even       = 1 << (chanceBits - 1) // of a place that nothing was seen of
	learn      = 5                     // by how much of it a chance moves, as a power of two
	least      = 1 << 24
)

// coder passes bits: a writer takes them, a reader returns its own, so that one walk serves both.
type coder interface {
	// bit passes a bit with the chance that it is 0.
	bit(chance *uint16, b uint) uint
	// plain passes the lowest n bits, of which nothing is known.
	plain(v uint64, n int) uint64
}

// tree passes n bits, each with a chance that depends on those before it.
func tree(c coder, chances []uint16, v uint, n int) uint {
	at := uint(1)
	for i := n - 1; i >= 0; i-- {
		at = at<<1 | c.bit(&chances[at], v>>i&1)
	}
	return at - 1<<n
}

// packer writes bits. Begin it with newPacker.
type packer struct {
	low   uint64
	width uint32
	cache byte
	held  int
	out   []byte
}

func newPacker() packer { return packer{width: 1<<32 - 1, held: 1} }

func (p *packer) bit(chance *uint16, b uint) uint {
	bound := p.width >> chanceBits * uint32(*chance)
	if b == 0 {
		p.width = bound
		*chance += (1<<chanceBits - *chance) >> learn
	} else {
		p.low += uint64(bound)
		p.width -= bound
		*chance -= *chance >> learn
	}
	for p.width < least {
		p.width <<= 8
		p.shift()
	}
	return b
}

func (p *packer) plain(v uint64, n int) uint64 {
	for i := n - 1; i >= 0; i-- {
		p.width >>= 1
		if v>>i&1 == 1 {
			p.low += uint64(p.width)
		}
		for p.width < least {
			p.width <<= 8
			p.shift()
		}
	}
	return v
}

// shift writes the highest byte; one that a carry may still change is held back, and those of 255 that
// it would run through with it.
func (p *packer) shift() {
	if uint32(p.low) < 0xff<<24 || p.low>>32 != 0 {
		carry := byte(p.low >> 32)
		p.out = append(p.out, p.cache+carry)
		for ; p.held > 1; p.held-- {
			p.out = append(p.out, 0xff+carry)
		}
		p.cache, p.held = byte(p.low>>24), 0
	}
	p.held++
	p.low = p.low & (1<<24 - 1) << 8
}

// end is what was written, without its first byte, which is always 0, and without zeros at its end: a
// reader finds them there anyway.
func (p *packer) end() []byte {
	for range 5 {
		p.shift()
	}
	return bytes.TrimRight(p.out[1:], "\x00")
}

// unpacker reads what a packer wrote.
type unpacker struct {
	code, width uint32
	in          []byte
}

func newUnpacker(in []byte) unpacker {
	u := unpacker{width: 1<<32 - 1, in: in}
	for range 4 {
		u.code = u.code<<8 | u.next()
	}
	return u
}

func (u *unpacker) next() (b uint32) {
	if len(u.in) > 0 {
		b, u.in = uint32(u.in[0]), u.in[1:]
	}
	return b
}

func (u *unpacker) bit(chance *uint16, _ uint) uint {
	bound := u.width >> chanceBits * uint32(*chance)
	b := uint(0)
	if u.code < bound {
		u.width = bound
		*chance += (1<<chanceBits - *chance) >> learn
	} else {
		b = 1
		u.code -= bound
		u.width -= bound
		*chance -= *chance >> learn
	}
	for u.width < least {
		u.width <<= 8
		u.code = u.code<<8 | u.next()
	}
	return b
}

func (u *unpacker) plain(_ uint64, n int) (v uint64) {
	for range n {
		u.width >>= 1
		v <<= 1
		if u.code >= u.width {
			u.code -= u.width
			v |= 1
		}
		for u.width < least {
			u.width <<= 8
			u.code = u.code<<8 | u.next()
		}
	}
	return v
}
