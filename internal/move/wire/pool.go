package wire

import (
	"sync"

	"linerate/internal/move"
)

// pool has buffers that nobody uses. Packs have smaller ones than blocks: in their huge pages memory
// that is touched first would be cleared far beyond a pack, which costs the kernel more than its data.
type pool struct{ blocks, packs sync.Pool }

// take takes a buffer for n bytes: one of PackSize, or of MaxData.
func (p *pool) take(n int) *[]byte {
	of := &p.blocks
	if n <= move.PackSize {
		of = &p.packs
	}
	if b, ok := of.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, move.PackSize)
	if n > move.PackSize {
		b = newBuffer()
	}
	return &b
}

// give gives one back.
func (p *pool) give(b *[]byte) {
	if len(*b) <= move.PackSize {
		p.packs.Put(b)
		return
	}
	p.blocks.Put(b)
}
