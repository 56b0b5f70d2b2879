package fabric

import "slices"

// parcels is a queue in the order of due times.
type parcels struct {
	fifo []parcel
	head int
}

func (q *parcels) first() (parcel, bool) {
	if q.head == len(q.fifo) {
		return parcel{}, false
	}
	return q.fifo[q.head], true
}

func (q *parcels) last() (parcel, bool) {
	if q.head == len(q.fifo) {
		return parcel{}, false
	}
	return q.fifo[len(q.fifo)-1], true
}

// push adds a parcel, nearly always at the end.
func (q *parcels) push(p parcel) {
	at := len(q.fifo)
	for at > q.head && q.fifo[at-1].due > p.due {
		at--
	}
	q.fifo = slices.Insert(q.fifo, at, p)
}

func (q *parcels) pop() parcel {
	p := q.fifo[q.head]
	q.fifo[q.head].frame = nil
	q.head++
	if q.head*2 >= len(q.fifo) && q.head > 64 || q.head == len(q.fifo) {
		n := copy(q.fifo, q.fifo[q.head:])
		clear(q.fifo[n:])
		q.fifo, q.head = q.fifo[:n], 0
	}
	return p
}

// Buffers come in two sizes, so that neither acknowledgements waste memory nor
// super-packets make garbage.
const (
	smallBuffer = 2 << 10
	largeBuffer = 68 << 10
)

// buffers are used again; one goroutine uses them.
type buffers struct{ small, large [][]byte }

func (b *buffers) get(n int) []byte {
	pool, size := &b.small, smallBuffer
	if n > smallBuffer {
		pool, size = &b.large, max(largeBuffer, n)
	}
	if k := len(*pool); k > 0 {
		buf := (*pool)[k-1]
		*pool = (*pool)[:k-1]
		return buf
	}
	return make([]byte, 0, size)
}

func (b *buffers) put(buf []byte) {
	if cap(buf) >= largeBuffer {
		b.large = append(b.large, buf[:0])
	} else {
		b.small = append(b.small, buf[:0])
	}
}
