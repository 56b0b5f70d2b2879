package local

import (
	"sync"

	"linerate/internal/move"
)

// buffers are memory for blocks. The one that was used last is taken first: memory that was never
// used costs the kernel more than the data that are put there.
type buffers struct {
	mu   sync.Mutex
	list []pages
}

// newBuffers gets memory for n blocks.
func newBuffers(n int) (*buffers, error) {
	b := &buffers{}
	for range n {
		p, err := buffer(move.BlockSize)
		if err != nil {
			b.free()
			return nil, err
		}
		b.list = append(b.list, p)
	}
	return b, nil
}

// take takes one; no more may be out than there are.
func (b *buffers) take() pages {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.list) - 1
	p := b.list[last]
	b.list = b.list[:last]
	return p
}

func (b *buffers) give(p pages) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, p)
}

// free frees those that are not out.
func (b *buffers) free() {
	for _, p := range b.list {
		p.free()
	}
}

// room is memory for one small file at a time: no more than they need, since memory that was never used
// costs the kernel more than the data of many.
type room struct{ b []byte }

// leastRoom is what the first file gets at least.
const leastRoom = 4 << 10

// of is room for a file of n bytes.
func (r *room) of(n int64) []byte {
	if size := int64(len(r.b)); size < n {
		for size = max(size, leastRoom); size < n; {
			size *= 2
		}
		r.b = make([]byte, size)
	}
	return r.b[:n]
}
